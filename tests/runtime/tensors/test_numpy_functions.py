"""NumPy's functions and ufuncs on Tensors: Tensors come back, with gradients where an operator has the meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import seeds

import opwright

RANDOM = seeds.numpy_generator(0)
A = RANDOM.uniform(0.1, 0.9, (3, 4))
B = RANDOM.uniform(0.1, 0.9, (3, 4))
# A function, its arguments, of which arrays are made Tensors, and its options.
RECORDED: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (np.exp, (A,), {}),
    (np.add, (A, 1), {}),
    (np.subtract, (2.0, A), {}),
    (np.multiply, (A, B), {}),
    (np.power, (A, 2), {}),
    (np.absolute, (A,), {}),
    (np.arctan2, (A, B), {}),
    (np.matmul, (A, B.T.copy()), {}),
    (np.maximum, (A, B), {}),
    (np.sum, (A,), {}),
    (np.sum, (A,), {"axis": 0}),
    (np.sum, (A, 1), {"keepdims": True}),
    (np.mean, (A, (0, 1)), {}),
    (np.std, (A,), {"axis": 1}),
    (np.var, (A,), {"axis": 1, "ddof": 1}),
    (np.max, (A,), {"axis": 0}),
    (np.prod, (A,), {"axis": 1}),
    (np.concatenate, ([A, B],), {"axis": 1}),
    (np.stack, ([A, B],), {}),
    (np.where, (A > 0.5, A, B), {}),
    (np.reshape, (A, (4, 3)), {}),
    (np.clip, (A, 0.2, 0.8), {}),
    (np.cumsum, (A,), {"axis": 1}),
    (np.flip, (A,), {"axis": 0}),
    (np.roll, (A, 1), {"axis": 0}),
    (np.moveaxis, (A, 0, 1), {}),
    (np.tile, (A, (2, 1)), {}),
    (np.broadcast_to, (A, (2, 3, 4)), {}),
    (np.expand_dims, (A, 1), {}),
]
# Those that NumPy computes on the arrays.
COMPUTED: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (np.percentile, (A, 30), {}),
    (np.interp, (A, np.arange(3.0), np.arange(3.0)), {}),
    (np.histogram, (A,), {}),
    (np.linalg.svd, (A,), {}),
    (np.add.reduce, (A,), {"axis": 1}),
    (np.add.accumulate, (A,), {}),
    (np.multiply.outer, (A, B), {}),
    (np.cbrt, (A,), {}),
    (np.modf, (A,), {}),
    (np.exp, (A,), {"dtype": np.float32}),
    (np.sum, (A,), {"where": A > 0.5}),
    (np.fft.rfft, (A,), {}),
]


def tensors(value: Any, **options: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([tensors(each, **options) for each in value])
    is_inexact = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return opwright.tensor(value, **(options if is_inexact else {})) if isinstance(value, np.ndarray) else value


def leaves(value: Any) -> list[Any]:
    return [each for item in value for each in leaves(item)] if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize(("function", "args", "options"), RECORDED + COMPUTED)
def test_functions_of_numpy_give_tensors(function: Any, args: Any, options: Any) -> None:
    found, expected = leaves(function(*tensors(args), **options)), leaves(function(*args, **options))
    assert len(found) == len(expected)
    for each, wanted in zip(found, expected, strict=True):
        assert isinstance(each, opwright.Tensor)
        assert each.dtype == wanted.dtype
        np.testing.assert_allclose(each.numpy(), wanted, rtol=1e-14)


@pytest.mark.parametrize(("function", "args", "options"), RECORDED)
def test_they_record_gradients(function: Any, args: Any, options: Any) -> None:
    given = tensors(args, requires_grad=True)
    result = function(*given, **options)
    assert result.requires_grad
    first = next(each for each in leaves(given) if isinstance(each, opwright.Tensor) and each.requires_grad)
    result.sum().backward()
    moved = 1e-6 * RANDOM.uniform(size=A.shape)
    base, place = leaves(args), next(at for at, each in enumerate(leaves(given)) if each is first)

    def total(sign: int) -> float:
        changed = [each + sign * moved if at == place else each for at, each in enumerate(base)]
        shaped = [[changed[0], changed[1]]] if isinstance(args[0], list) else changed
        shaped = args[:1] + tuple(changed[1:3]) if function is np.where else shaped
        rest = () if isinstance(args[0], list) or function is np.where else args[1:]
        if function in (np.subtract, np.multiply, np.arctan2, np.matmul, np.maximum):
            return float(np.sum(function(*changed[:2], **options)))
        return float(np.sum(function(shaped[0], *(shaped[1:] if function is np.where else rest), **options)))

    numeric = (total(1) - total(-1)) / 2
    assert abs(float((first.grad * opwright.tensor(moved)).sum()) - numeric) < 1e-10


@pytest.mark.parametrize("function", [np.cbrt, np.add.reduce, np.linalg.svd, np.interp])
def test_what_numpy_computes_is_not_recorded_in_silence(function: Any) -> None:
    x = opwright.tensor(A, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        function(x, [0.0, 1.0], [0.0, 1.0]) if function is np.interp else function(x)


def test_out_is_written_and_counts() -> None:
    x, out = opwright.tensor(A), opwright.zeros(3, 4, dtype=opwright.float64)
    version = out._version
    for made in (np.exp(x, out=out), np.exp(x, out), np.cbrt(x, out=out), np.sqrt(x, out=out, dtype=np.float64)):
        assert made is out
    assert np.array_equal(out.numpy(), np.sqrt(A))
    assert out._version >= version + 4
    array = np.zeros((3, 4))
    assert np.exp(x, out=array) is array
    assert np.array_equal(array, np.exp(A))
    total = opwright.zeros(4, dtype=opwright.float64)
    assert np.sum(x, axis=0, out=total) is total
    assert np.allclose(total.numpy(), A.sum(0))


def test_where_leaves_elements_as_they_are() -> None:
    x, out = opwright.tensor(A), opwright.full((3, 4), -1.0, dtype=opwright.float64)
    assert np.exp(x, where=A > 0.5, out=out) is out
    assert np.array_equal(out.numpy(), np.where(A > 0.5, np.exp(A), -1.0))
    with pytest.raises(RuntimeError, match="requires grad"):
        np.exp(opwright.tensor(A, requires_grad=True), where=A > 0.5)


def test_at_writes_to_the_tensor() -> None:
    x = opwright.zeros(3, dtype=opwright.float64)
    version = x._version
    np.add.at(x, [0, 0, 2], 1.0)
    assert x.tolist() == [2.0, 0.0, 1.0]
    assert x._version > version


def test_what_writes_is_refused() -> None:
    x = opwright.zeros(3)
    with pytest.raises(TypeError, match=r"np.copyto writes to its argument: use the methods of Tensor"):
        np.copyto(x, 1.0)


def test_values_that_are_no_arrays_stay() -> None:
    x = opwright.tensor(A)
    assert np.array_equal(x, A) is True
    assert np.allclose(x, A) is True
    assert np.shape(x) == (3, 4)
    assert np.ndim(x) == 2
    assert np.result_type(x, np.float32) == np.float64


def test_integers_are_computed_as_operators_do() -> None:
    x = opwright.arange(3)
    assert np.add(x, 1).dtype == opwright.int64
    assert np.exp(x).dtype == opwright.exp(x).dtype
    assert np.add(x, [1, 2, 3]).tolist() == [1, 3, 5]


def test_without_data_and_in_batches() -> None:
    with opwright.fake.FakeTensorMode():
        assert np.exp(opwright.empty(2, 3)).shape == (2, 3)
        assert np.concatenate([opwright.empty(2, 3), opwright.empty(2, 3)]).shape == (4, 3)
    assert opwright.vmap(lambda x: np.sum(np.exp(x), axis=0))(opwright.zeros(2, 3)).tolist() == [3.0, 3.0]
