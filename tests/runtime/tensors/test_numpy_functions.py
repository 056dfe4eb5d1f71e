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
    (np.maximum, (A, 0.5), {}),
    (np.minimum, (0.5, A), {}),
    (np.hypot, (3, A), {}),
    (np.arctan2, (1, A), {}),
    (np.arctan2, (A, np.float64(2)), {}),
    (np.fmax, (A, 0.5), {}),
    (np.logaddexp, (1, A), {}),
    (np.fmin, (B, A), {}),
    (np.multiply, (A, [1.0, 2.0, 3.0, 4.0]), {}),
    (np.sort, (A, None), {}),
    (np.sort, (A,), {"axis": 0}),
    (np.sum, (A, (0, 1), None, None, True), {}),
    (np.mean, (A,), {"axis": None, "dtype": None, "out": None}),
    (np.std, (A,), {"axis": (0, 1), "keepdims": True}),
    (np.cumsum, (A,), {}),
    (np.cumprod, (A,), {"axis": None}),
    (np.concatenate, ([A, B],), {"axis": None}),
    (np.concatenate, ([A, [[1.0, 2.0, 3.0, 4.0]]],), {}),
    (np.where, (A > 0.5, A, 0), {}),
    (np.where, (A > 0.5, 1.0, A), {}),
    (np.clip, (A, None, 0.5), {}),
    (np.clip, (A,), {"min": 0.3}),
    (np.take, (A, [0, -1]), {}),
    (np.take, (A, 1, 0), {}),
    (np.repeat, (A, 2), {}),
    (np.repeat, (A, [1, 0, 2]), {"axis": 0}),
    (np.tensordot, (A, B), {"axes": ([0], [0])}),
    (np.diff, (A, 2), {"axis": 0}),
    (np.squeeze, (A[None],), {}),
    (np.tril, (A, 1), {}),
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


def arrays(value: Any) -> list[Any]:
    kinds = (np.ndarray, opwright.Tensor)
    return [each for each in leaves(value) if isinstance(each, kinds) and each.dtype.kind == "f"]


def replaced(value: Any, function: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([replaced(each, function) for each in value])
    return function(value) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


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
    result.sum().backward()
    changes = [1e-6 * RANDOM.uniform(size=each.shape) for each in arrays(args)]

    def total(sign: int) -> float:
        steps = iter(changes)
        return float(np.sum(function(*replaced(args, lambda array: array + sign * next(steps)), **options)))

    slopes = [each.grad if each.requires_grad else 0 for each in arrays(given)]
    found = sum(float((slope * opwright.tensor(step)).sum()) for slope, step in zip(slopes, changes, strict=True))
    assert abs(found - (total(1) - total(-1)) / 2) < 1e-10


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


@pytest.mark.filterwarnings("ignore:Implicit casting:DeprecationWarning")
@pytest.mark.parametrize("kind", ["int64", "float32", "float64", "bool"])
@pytest.mark.parametrize("shape", [(4,), (1, 4), (2, 4), (3,), ()])
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.exp, (A[0],)),
        (np.cbrt, (A[0],)),
        (np.maximum, (A[0], 0.5)),
        (np.add.reduce, (A, 0)),
        (np.sum, (A, 0)),
        (np.mean, (A, 0)),
        (np.max, (A, 0)),
        (np.argmax, (A, 0)),
        (np.any, (A, 0)),
        (np.median, (A, 0)),
        (np.clip, (A[0], 0.2, 0.5)),
        (np.take, (A[0], [0, 1, 2, 3])),
        (np.concatenate, ([A[0, :2], B[0, :2]],)),
        (np.dot, (A[0], A[0])),
    ],
)
def test_out_is_written_as_numpy_writes_it(function: Any, args: Any, shape: Any, kind: str) -> None:
    wanted, array = np.zeros(shape, kind), np.zeros(shape, kind)
    given, out = tensors(args), opwright.zeros(shape, dtype=getattr(opwright, kind))
    try:
        is_out = function(*args, out=wanted) is wanted
    except (TypeError, ValueError) as error:
        for target in (out, array):
            with pytest.raises(type(error)):
                function(*given, out=target)
    else:
        assert (function(*given, out=out) is out) == is_out
        assert (function(*given, out=array) is array) == is_out
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(array, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "function", [np.sum, np.median, np.mean, np.max, np.argmax, np.nanmean, np.ptp, np.cumsum, np.dot]
)
def test_out_may_stand_at_its_position(function: Any) -> None:
    x = opwright.tensor(A)
    rest = {np.sum: (0, None), np.mean: (0, None), np.nanmean: (0, None), np.cumsum: (0, None), np.dot: (A.T.copy(),)}
    before = rest.get(function, (0,))
    wanted = function(A, *before)
    out = opwright.zeros(wanted.shape, dtype=wanted.dtype)
    version = out._version
    assert function(x, *before, out) is out
    assert out._version > version
    assert np.array_equal(out.numpy(), wanted)


def test_results_over_the_same_memory_are_views() -> None:
    x, w = opwright.tensor(A), opwright.ones(1, dtype=opwright.float64).requires_grad_()
    y = x * w
    for part in (np.split(x, 2, axis=1)[1], np.swapaxes(x, 0, 1), np.ravel(x), np.atleast_3d(x), np.diagonal(x)):
        version = x._version
        part.zero_()
        assert x._version > version
    assert x.sum().item() == 0.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    turned, half = np.rot90(x), np.real(x + 1j)
    turned += 1
    half += 1
    assert x.sum().item() == 0.0


@pytest.mark.parametrize(
    "write",
    [lambda x: np.nan_to_num(x, copy=False), lambda x: np.median(x, overwrite_input=True), lambda x: np.copyto(x, 1.0)],
)
def test_nothing_is_written_that_is_not_counted(write: Any) -> None:
    x = opwright.tensor([3.0, float("nan"), 1.0])
    with pytest.raises((ValueError, TypeError), match=r"read-only|writes to its argument"):
        write(x)
    assert x.tolist()[::2] == [3.0, 1.0]


def test_arrays_are_written_to_from_tensors() -> None:
    array = np.zeros(3)
    np.copyto(array, opwright.tensor([1.0, 2.0, 3.0]))
    np.put(array, [0], opwright.tensor([5.0]))
    np.add.at(array, opwright.tensor([0, 0]), 1.0)
    assert array.tolist() == [7.0, 2.0, 3.0]


def test_divmod() -> None:
    x = opwright.tensor([5.0, -7.0])
    for found, wanted in ((divmod(x, 2), divmod(x.numpy(), 2)), (divmod(2, x), divmod(2, x.numpy()))):
        assert [each.tolist() for each in found] == [each.tolist() for each in wanted]
    assert [each.tolist() for each in divmod(np.array([5.0, 4.0]), x)] == [[1.0, -1.0], [0.0, -3.0]]
    assert divmod(x.requires_grad_(), 2)[1].requires_grad


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


def test_dtypes_are_those_of_numpy() -> None:
    x = opwright.arange(3)
    assert np.add(x, 1).dtype == opwright.int64
    assert np.exp(x).dtype == np.mean(x).dtype == opwright.float64
    assert np.add(x, opwright.ones(3)).dtype == opwright.float64
    assert (np.arange(3) + opwright.ones(3)).dtype == opwright.float32  # the operator of Python
    assert np.add(x, [1, 2, 3]).tolist() == [1, 3, 5]


def test_without_data_and_in_batches() -> None:
    with opwright.fake.FakeTensorMode():
        assert np.exp(opwright.empty(2, 3)).shape == (2, 3)
        assert np.concatenate([opwright.empty(2, 3), opwright.empty(2, 3)]).shape == (4, 3)
        assert np.maximum(opwright.empty(2, 3), 1).shape == (2, 3)
        assert np.mean(opwright.empty(2, 3, dtype=opwright.int64), 1).dtype == opwright.float64
        with pytest.raises(RuntimeError, match=r"no data|fake"):
            np.median(opwright.empty(2, 3))
    assert opwright.vmap(lambda x: np.maximum(np.hypot(x, 1), 2.0))(opwright.ones(2, 3)).tolist() == [[2.0] * 3] * 2
    assert opwright.vmap(lambda x: np.sum(np.exp(x), axis=0))(opwright.zeros(2, 3)).tolist() == [3.0, 3.0]
