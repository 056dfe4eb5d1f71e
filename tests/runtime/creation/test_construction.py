"""`tensor` infers dtypes and shapes as PyTorch does; `as_tensor` and `from_numpy` share memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opwright.creation.construction import as_tensor, from_numpy, tensor
from opwright_core.arrays import dtypes
from opwright_core.tensors.tensor import wrap

INFERRED: list[Any] = [
    1,
    1.5,
    True,
    2j,
    [1, 2.5, True],
    [True, 2],
    [1, 2j],
    [],
    [[], []],
    [[1, 2], [3, 4]],
    ((1.0, 2.0),),
    range(3),
    np.float64(1.5),
    [np.float64(1.5), 2],
    [np.int32(1)],
    [np.int32(1), np.int16(2)],
    np.arange(3, dtype=np.int16),
    [[[1]], [[2]]],
]


@pytest.mark.oracle
@pytest.mark.parametrize("data", INFERRED, ids=repr)
def test_inference_equals_pytorch(data: Any) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    expected, ours = torch.tensor(data), tensor(data)
    assert str(expected.dtype) == f"torch.{ours.dtype}"
    assert (ours.shape, ours.stride(), ours.tolist()) == (tuple(expected.shape), expected.stride(), expected.tolist())


FAILING: list[tuple[Any, dict[str, Any], type[Exception]]] = [
    ([[1, 2], [3]], {}, ValueError),
    ([[1, 2], 3], {}, TypeError),
    ([2**63], {}, ValueError),
    ("a", {}, TypeError),
    ([None], {}, RuntimeError),
    ({}, {}, RuntimeError),
    (300, {"dtype": "uint8"}, RuntimeError),
    ([float("nan")], {"dtype": "int64"}, RuntimeError),
    ([1e30], {"dtype": "int64"}, RuntimeError),
    (1j, {"dtype": "float32"}, TypeError),
    (np.array(["a"]), {}, TypeError),
    (np.array([None]), {}, TypeError),
    ([1], {"requires_grad": True}, RuntimeError),
]


@pytest.mark.oracle
@pytest.mark.parametrize("data, options, error", FAILING, ids=repr)
def test_what_pytorch_refuses_is_refused_with_the_same_error(data: Any, options: Any, error: type[Exception]) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    theirs = {key: getattr(torch, value) if key == "dtype" else value for key, value in options.items()}
    with pytest.raises(error):
        torch.tensor(data, **theirs)
    with pytest.raises(error):
        tensor(data, **options)


@pytest.mark.parametrize(
    "data, dtype, values",
    [
        (-1, "uint8", 255),
        ([1.7], "int64", [1]),
        (1e300, "float32", np.inf),
        (2, "bool", True),
        (2**63, "uint64", 2**63),
    ],
)
def test_given_dtypes(data: Any, dtype: str, values: Any) -> None:
    made = tensor(data, dtype=dtype)
    assert (str(made.dtype), made.tolist()) == (dtype, values)


def test_messages_say_where() -> None:
    with pytest.raises(ValueError, match=r"expected sequence of length 2 at dim 1 \(got 1\)"):
        tensor([[1, 2], [3]])
    with pytest.raises(TypeError, match="not a sequence"):
        tensor([[1, 2], 3])
    with pytest.raises(ValueError, match="nesting is uneven"):
        tensor([1, [2]])


def test_tensor_copies_and_keeps_no_strides() -> None:
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    made = tensor(array)
    assert not np.shares_memory(made.array, array)
    assert made.stride() == (3, 1)
    assert tensor(wrap(array)).tolist() == array.tolist()
    assert tensor([wrap(np.array(1)), 2.5]).tolist() == [1.0, 2.5]


def test_as_tensor_shares_where_it_can() -> None:
    array = np.zeros(3)
    x = as_tensor(array)
    assert x.array is array
    assert as_tensor(x) is x
    assert as_tensor(x, "float64", "cpu") is x
    assert as_tensor(x, dtype="float32").dtype is dtypes.float32
    assert as_tensor([1, 2]).tolist() == [1, 2]


def test_from_numpy() -> None:
    array = np.arange(4.0)
    x = from_numpy(array)
    array[0] = 9
    assert x.tolist()[0] == 9
    assert from_numpy(array[::-1]).tolist() == [3.0, 2.0, 1.0, 9.0]
    assert from_numpy(np.array(2)).shape == ()


def test_from_numpy_refuses() -> None:
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        from_numpy([1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="byte order"):
        from_numpy(np.zeros(2, ">f4"))
    with pytest.raises(TypeError, match="only supported types"):
        from_numpy(np.array([None]))
    with pytest.raises(TypeError, match="mask"):
        from_numpy(np.ma.masked_array([1.0], [True]))
    record = np.zeros(3, np.dtype([("a", "i1"), ("b", "f4")]))
    with pytest.raises(ValueError, match="strides not a multiple"):
        from_numpy(record["b"])


def test_from_numpy_warns_of_read_only_memory() -> None:
    array = np.zeros(2)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        from_numpy(array)
