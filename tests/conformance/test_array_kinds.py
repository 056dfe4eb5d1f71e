"""Arrays that are not quite plain: what an operator gives is right, or it refuses them, as `from_numpy` does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor

VALUES = np.arange(6.0).reshape(2, 3)


def unaligned() -> np.ndarray[Any, Any]:
    made = np.ndarray((2, 3), np.float64, bytearray(3 + 48), 3)
    made[...] = VALUES
    return made


def field() -> np.ndarray[Any, Any]:
    """A column of records: its strides are no number of elements."""
    made = np.zeros((2, 3), [("flag", "i1"), ("value", "f8")])
    made["value"] = VALUES
    return made["value"]


def read_only() -> np.ndarray[Any, Any]:
    made = VALUES.copy()
    made.flags.writeable = False
    return made


# Those that are right, of one dtype and values; those that are refused.
RIGHT: dict[str, Callable[[], Any]] = {
    "matrix": lambda: VALUES.copy().view(np.matrix),
    "unaligned": unaligned,
    "field": field,
    "reversed": lambda: VALUES[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "subclass": lambda: VALUES.copy().view(type("Other", (np.ndarray,), {})),
    "half": lambda: VALUES.astype(np.float16),
    "longlong": lambda: VALUES.astype(np.longlong),
    "big-endian": lambda: VALUES.astype(">f8"),
    "big-endian integers": lambda: VALUES.astype(">i4"),
}
REFUSED: dict[str, Callable[[], Any]] = {
    "masked": lambda: np.ma.array(VALUES, mask=VALUES > 3),
    "masked nowhere": lambda: np.ma.array(VALUES),
    "records": lambda: np.rec.array([(1, 2.0)] * 2, dtype=[("a", "i4"), ("b", "f8")]),
    "objects": lambda: VALUES.astype(object),
    "text": lambda: VALUES.astype(str),
    "bytes": lambda: VALUES.astype(bytes),
    "dates": lambda: VALUES.astype("M8[D]"),
    "spans": lambda: VALUES.astype("m8[s]"),
    "long double": lambda: VALUES.astype(np.longdouble),
    "long complex": lambda: VALUES.astype(np.clongdouble),
}
# The forms in which operators see arrays: fast, checked and composite kernels, lists, beside Tensors, written.
CALLS: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: opwright.exp(x),
    "neg": lambda x: opwright.neg(x),
    "add": lambda x: opwright.add(x, x),
    "add to a number": lambda x: opwright.add(x, 2),
    "eq": lambda x: opwright.eq(x, x),
    "logical_not": lambda x: opwright.logical_not(x),
    "sum": lambda x: opwright.sum(x, 0),
    "t": lambda x: opwright.t(x),
    "std": lambda x: opwright.std(opwright.mul(x, 1.0)),
    "cat": lambda x: opwright.cat([x, x]),
    "where": lambda x: opwright.where(opwright.gt(x, 1), x, x),
    "first beside a Tensor": lambda x: opwright.add(x, opwright.ones(2, 3)),
    "behind a Tensor": lambda x: opwright.ones(2, 3).mul(x),
    "list beside a Tensor": lambda x: opwright.cat([opwright.ones(1, 3), x]),
    "read in place": lambda x: opwright.zeros(2, 3).add_(x),
    "copied": lambda x: opwright.zeros(2, 3).copy_(x),
    "stored": lambda x: stored(x),
    "written in place": lambda x: opwright.add_(x, 1),
    "written by out=": lambda x: opwright.add(opwright.ones(2, 3), 1, out=x),
    "from_numpy": lambda x: opwright.from_numpy(x),
    "as_tensor": lambda x: opwright.as_tensor(x),
    "tensor": lambda x: opwright.tensor(x),
    "tensor of a list": lambda x: opwright.tensor([x[0, 0], x[1, 1]]),
}
REFUSALS = (TypeError, ValueError, RuntimeError)


def stored(value: Any) -> Tensor:
    made = opwright.zeros(2, 3)
    made[:] = value
    return made


def called(call: str, given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return CALLS[call](given)
        except REFUSALS as error:
            return error


def as_array(value: Any) -> np.ndarray[Any, Any]:
    return value.numpy() if isinstance(value, Tensor) else np.asarray(value)


@pytest.mark.parametrize("kind", RIGHT)
def test_right_or_refused(kind: str) -> None:
    for call in CALLS:
        given = RIGHT[kind]()
        native = np.array(given.astype(given.dtype.newbyteorder("=")), order="C")
        found = called(call, given)
        wanted = called(call, native)
        if isinstance(found, Exception):
            words = ("byte order", "strides", "cast", "writ", "read-only", "not implemented", "floating")
            assert any(word in str(found) for word in words), (call, found)
            continue
        assert not isinstance(wanted, Exception), (call, wanted)
        one, other = as_array(found), as_array(wanted)
        assert one.shape == other.shape and one.dtype == other.dtype, (call, one, other)
        assert np.allclose(one, other), (call, one, other)
        if "written" in call:
            assert found is given and np.allclose(np.asarray(given), native), call


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str) -> None:
    for call in CALLS:
        given = REFUSED[kind]()
        if call == "tensor of a list" and kind != "masked":
            continue
        found = called(call, given)
        assert isinstance(found, Exception), (call, found)
        words = ("masked array", "can't convert np.ndarray of type", "a Tensor cannot have dtype")
        assert any(word in str(found) for word in words), (call, found)


def test_masked_elements_are_refused() -> None:
    with pytest.raises(TypeError, match="would lose its mask"):
        opwright.tensor([1.0, np.ma.masked])
    with pytest.raises(opwright.ArgumentError, match=r"(?s)aten::sum\(\).*argument 'self'.*would lose its mask"):
        opwright.sum(np.ma.array([1.0, 2.0], mask=[True, False]))
