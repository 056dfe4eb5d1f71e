"""Calls with other values, for what one call alone cannot tell: zeros set to zero are not written to, or are they."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opwright.creation.construction import from_numpy
from opwright_core.arrays.dtypes import DType, complex64, float32
from opwright_core.tensors.tensor import Tensor
from opwright_gate.checking.calls import Call, Operand
from opwright_gate.checking.observing import Contents, Observed

__all__ = ["writes_with_others"]


def writes_with_others(call: Call, observed: Observed, written: Operand) -> bool:
    """Whether a call changes an argument that it is declared to write to: the call observed, or one with other values.

    The number of the argument's Tensor among the operands is that of `written`. Calls that raise say nothing, and
    neither do empty Tensors.
    """
    if any(operand is written for operand in observed.written):
        return True
    if not all(operand.tensor.numel() for operand in call.operands):
        return True
    position = observed.call.operands.index(written)
    return any(_changes(varied, position) for varied in _variations(call, position))


def _changes(call: Call, position: int) -> bool:
    contents = Contents([call.operands[position]])
    try:
        call()
    except Exception:
        return False
    return bool(contents.changed())


def _variations(call: Call, place: int) -> Iterator[Call]:
    """Yield the call with other values where the write should be, then in the other Tensors, then with Tensors of other
    dtypes (integers are rounded already), then with other numbers."""
    others = [number for number in range(len(call.operands)) if number != place]
    for positions in ([place], [place, *others], *([number] for number in others)):
        for values in (_mirrored, _not_numbers, _first_mirrored):
            yield _with_values(call, positions, values)
    for dtype in (float32, complex64):
        for sign in (1, -1):  # `relu_` leaves what is nowhere negative as it is
            yield _of_dtype(call, call.operands[place].tensor.dtype, dtype, sign)
    for position, value in enumerate(call.arguments):
        for other in _other_numbers(value):
            yield call.copied().with_argument(position, other)
            yield _with_values(call, [place], _mirrored).with_argument(position, other)


def _with_values(call: Call, positions: list[int], values: Any) -> Call:
    copied = call.copied()
    for number in positions:
        tensor = copied.operands[number].tensor
        try:
            tensor.copy_(from_numpy(values(tensor.numpy(force=True))))
        except RuntimeError:  # an expanded tensor has one position for several elements
            continue
    return copied


def _of_dtype(call: Call, dtype: DType, other: DType, sign: int) -> Call:
    """Return the call with Tensors of another dtype instead of those of one, with values that only it can have."""
    fraction = 0.25 + 0.5j if other is complex64 else 0.25

    def convert(tensor: Tensor) -> Tensor:
        return (tensor.to(other) + fraction) * sign if tensor.dtype == dtype else tensor.clone()

    return call.converted(convert)


def _mirrored(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return values of the other sign, large ones."""
    if array.dtype.kind in "biu":
        return np.asarray(np.invert(array))
    wide = array if array.dtype.kind == "c" else array.astype(np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(-1000 * np.nan_to_num(wide) - 1.25).astype(array.dtype)


def _first_mirrored(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a tensor with the first element mirrored, in a mask that is true for none."""
    made = array.copy()
    made[(0,) * made.ndim] = _mirrored(made)[(0,) * made.ndim]
    return made


def _not_numbers(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return NaN everywhere; zeros instead of integers."""
    return np.zeros_like(array) if array.dtype.kind in "biu" else np.full_like(array, np.nan)


def _other_numbers(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [type(value)(1), 2 * value + 1]
    return []
