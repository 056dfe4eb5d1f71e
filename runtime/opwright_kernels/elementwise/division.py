"""Division with a remainder of float32, by way of float64, in which it is exact: NumPy divides element by element."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays import layouts

Array = Any

# Quotients below this are exact: of 24 digits each, two numbers and their product fit into the 53 of float64.
_LARGEST_QUOTIENT = float(2**22)
_BLOCK = 1 << 14
_FROM = 256  # elements


def serves(xp: ModuleType, self: Array, other: Array) -> bool:
    """Whether `divided` is for these: larger arrays of float32 on the CPU."""
    return xp is np and self.dtype.char == "f" == other.dtype.char and max(self.size, other.size) >= _FROM


def divided(ufunc: Any, self: Array, other: Array, out: Array | None) -> Array:
    """Return what `fmod`, `remainder` or `floor_divide` of NumPy returns, to the last digit."""
    shape = layouts.broadcast_shapes([self.shape, other.shape])
    result = np.empty(shape, self.dtype) if out is None else out
    operands = [np.broadcast_to(each, shape).reshape(-1) for each in (self, other)]
    flat = result.reshape(-1) if result.flags.c_contiguous else np.empty(result.size, result.dtype)
    for start in range(0, flat.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        _divide(ufunc, operands[0][part], operands[1][part], flat[part])
    if not np.may_share_memory(flat, result):
        result[...] = flat.reshape(shape)
    return result


def _divide(ufunc: Any, self: Array, other: Array, out: Array) -> None:
    dividend, divisor = self.astype("float64"), other.astype("float64")
    quotient = dividend / divisor
    (np.trunc if ufunc is np.fmod else np.floor)(quotient, out=quotient)
    # NaN, infinities and zeros among the operands are in neither.
    if not (np.isfinite(divisor.sum()) and max(quotient.max(), -quotient.min()) < _LARGEST_QUOTIENT):
        ufunc(self, other, out=out)
        return
    if ufunc is np.floor_divide:
        out[...] = quotient
        return
    quotient *= divisor
    dividend -= quotient
    # What is left has this sign, and so has a zero.
    np.copysign(dividend, self if ufunc is np.fmod else other, out=dividend)
    out[...] = dividend


def divided_by_fmod(xp: ModuleType, is_remainder: bool, self: Array, other: Array, out: Array | None) -> Array:
    """Return the remainder, or the quotient rounded down, of floats: exact where CuPy, which rounds the quotient first,
    gives NaN for a divisor without end, and digits that are none for a quotient that is large."""
    rest = xp.fmod(self, other)
    is_across = (rest != 0) & ((rest < 0) != (other < 0))
    if is_remainder:
        return xp.add(rest, xp.where(is_across, other, other.dtype.type(0)), out=out)
    quotient = (self - rest) / other - is_across
    floor = xp.floor(quotient)
    floor += quotient - floor > 0.5
    found = xp.where(other == 0, self / other, floor)
    return found if out is None else xp.positive(found, out=out)
