"""Pointwise arithmetic where ATen's rules are not those of one NumPy function.

Every kernel gets arrays already promoted to the dtype it computes in; `out`, when not None, is an array of that dtype
and of the broadcast shape that receives the result.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import wrapped_scalar
from opwright_core.core import compiled
from opwright_core.errors import DispatchError
from opwright_kernels.elementwise import division, single_precision
from opwright_kernels.elementwise.scaled_sums import or_reused
from opwright_kernels.special_functions.approximation import filled_in_blocks
from opwright_kernels.special_functions.special import erf

Array = Any
Number = complex  # any of Python's
# `gelu` by tanh is x (1 + tanh(u)) / 2 for u = FACTOR x + CUBIC x³.
TANH_FACTOR = 0.7978845608028654  # the root of 2 / π
TANH_CUBIC = TANH_FACTOR * 0.044715


def divide_rounded(
    xp: ModuleType, self: Array, other: Array, rounding_mode: str | None, out: Array | None = None
) -> Array:
    """Return `div` with `rounding_mode`: None divides truly, "trunc" rounds toward zero, "floor" down."""
    match rounding_mode:
        case None:
            return xp.true_divide(self, other, out=out)
        case "floor":
            return floor_divide(xp, self, other, out)
        case _:
            return _truncating_divide(xp, self, other, out)


def floor_divide(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Return the quotient rounded down. Raises RuntimeError where an integer is divided by zero."""
    return _dividing(xp, xp.floor_divide, self, other, out)


@compiled
def remainder(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Return what is left after `floor_divide`, with the divisor's sign. Raises RuntimeError where an integer is
    divided by zero."""
    return _dividing(xp, xp.remainder, self, other, out)


@compiled
def fmod(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Return what is left after a division toward zero, with the dividend's sign. Raises RuntimeError where an integer
    is divided by zero."""
    return _dividing(xp, xp.fmod, self, other, out)


def _dividing(xp: ModuleType, ufunc: Any, self: Array, other: Array, out: Array | None) -> Array:
    if xp is not np and self.dtype.kind == "f" and ufunc is not xp.fmod:
        return division.divided_by_fmod(xp, ufunc is xp.remainder, self, xp.asarray(other), out)
    if division.serves(xp, self, other):
        return division.divided(ufunc, self, other, out)
    if xp is not np or self.dtype.kind not in "iu":
        return ufunc(self, other, out=out)
    if out is not None and not np.all(other):
        raise RuntimeError("ZeroDivisionError: an integer was divided by zero")
    # NumPy raises its divide flag as it goes, so that no pass over the divisor is needed to find a zero.
    try:
        with np.errstate(divide="raise"):
            return ufunc(self, other, out=out)
    except FloatingPointError:
        raise RuntimeError("ZeroDivisionError: an integer was divided by zero") from None


def _truncating_divide(xp: ModuleType, self: Array, other: Array, out: Array | None) -> Array:
    if self.dtype.kind not in "iu":
        quotient = xp.true_divide(self, other, out=out)
        return xp.trunc(quotient, out=out)
    # Floor and trunc differ where the division leaves a remainder and the signs differ.
    quotient = floor_divide(xp, self, other)
    inexact = xp.not_equal(quotient * other, self)
    return xp.add(quotient, inexact & ((self < 0) != (other < 0)), out=out)


def power(xp: ModuleType, self: Array, exponent: Array, out: Array | None = None) -> Array:
    """Return `self ** exponent`; an integer to a negative power is its reciprocal rounded toward zero, so 0 but for 1
    and -1."""
    if self.dtype.kind == "b":
        return xp.logical_or(self, xp.logical_not(exponent), out=out)
    if self.dtype.kind != "i":
        if exponent.ndim == 0 and self.ndim and exponent == 0.5:  # for which NumPy may take the root, NaN of -inf
            exponent = xp.full_like(self, 0.5)
        return xp.power(self, exponent, out=out)
    negative = xp.less(exponent, 0)
    if not negative.any():
        return xp.power(self, exponent, out=out)
    powers = xp.power(self, xp.where(negative, 0, exponent))
    parity = xp.where(exponent % 2 == 0, self.dtype.type(1), self.dtype.type(-1))
    reciprocals = xp.where(self == 1, self.dtype.type(1), xp.where(self == -1, parity, self.dtype.type(0)))
    return _stored(xp, xp.where(negative, reciprocals, powers), out)


@compiled
def power_scalar(xp: ModuleType, self: Array, exponent: Number, out: Array | None = None) -> Array:
    """Return `self ** exponent` for a number. Of 0.5 and -0.5 it is `sqrt` and its reciprocal, of -0.0 and -inf."""
    if self.dtype.kind == "b":
        return power(xp, self, exponent, out)
    if exponent == 2:
        return xp.multiply(self, self, out=out)
    if exponent == 3 and self.dtype.kind == "f":
        return cube(xp, self, out)
    if exponent in (0.5, -0.5) and self.dtype.kind in "fc":
        root = xp.sqrt(self, out=out)
        return root if exponent == 0.5 else xp.true_divide(1, root, out=out)
    return xp.power(self, exponent, out=out)


@compiled
def reciprocal_root(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return 1 / sqrt(self)."""
    return xp.reciprocal(xp.sqrt(self, out=out), out=out)


@compiled
def cube(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the third power of real numbers."""
    return filled_in_blocks(xp, _fill_cube, self, out)


def _fill_cube(xp: ModuleType, x: Array, out: Array) -> None:
    square = x * x
    xp.multiply(square, x, out=out)


@compiled
def clamp(xp: ModuleType, self: Array, min: Array | None, max: Array | None, out: Array | None = None) -> Array:
    """Return each element held within [min, max]; NaN stays, and where min > max the result is max."""
    if min is not None and max is not None:
        held = xp.maximum(self, min, out=None if out is max else out)
        return xp.minimum(held, max, out=out)
    if min is not None:
        return xp.maximum(self, min, out=out)
    return xp.minimum(self, max, out=out)


@compiled
def addcdiv(
    xp: ModuleType, self: Array, tensor1: Array, tensor2: Array, value: Number, out: Array | None = None
) -> Array:
    """Return `self + value * tensor1 / tensor2`."""
    numerator = tensor1 if value == 1 else tensor1 * wrapped_scalar(value, self.dtype)
    quotient = numerator / tensor2
    return xp.add(self, quotient, out=or_reused(out, quotient, self))


@compiled
def heaviside(xp: ModuleType, self: Array, values: Array, out: Array | None = None) -> Array:
    """Return 0 below zero and for NaN, 1 above it, `values` at zero."""
    return _stored(xp, xp.where(self == 0, values, (self > 0).astype(self.dtype)), out)


def ldexp(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Return `self * 2 ** other`, in two steps, since the power alone may overflow where the product does not."""
    if self.dtype.kind == "c":
        return xp.multiply(self, exp2(xp, other), out=out)
    first = xp.trunc(xp.clip(other, -2000, 2000) * 0.5)
    return xp.multiply(self * xp.exp2(first), xp.exp2(other - first), out=out)


@compiled
def logaddexp(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Return `log(exp(self) + exp(other))` without overflow."""
    if self.dtype.kind != "c":
        if xp is np and self.shape == other.shape and self.size > 64 and out is None:
            return _logaddexp(self, other)
        return xp.logaddexp(self, other, out=out)
    swapped = self.real < other.real
    larger, smaller = xp.where(swapped, other, self), xp.where(swapped, self, other)
    result = larger + xp.log1p(xp.exp(smaller - larger))
    return _stored(xp, xp.where(xp.isneginf(larger.real), larger, result), out)


def _logaddexp(self: Array, other: Array) -> Array:
    """Return what NumPy's function does, which goes by elements, in steps that it has vector instructions for."""
    result = np.maximum(self, other)
    distance = np.subtract(self, other)
    np.abs(distance, out=distance)
    if np.isnan(distance).any():  # of NaN, and of two equal infinities
        return np.logaddexp(self, other)
    np.negative(distance, out=distance)
    np.exp(distance, out=distance)
    np.log1p(distance, out=distance)
    result += distance
    return result


def exp2(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return 2 to the power of `self`."""
    if self.dtype.kind == "c":  # CuPy has none for complex numbers
        return xp.exp(self * self.dtype.type(0.6931471805599453), out=out)
    return xp.exp2(self, out=out)


@compiled
def sign(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return -1, 0 or 1; 0 for NaN and for both zeros."""
    if self.dtype.kind == "f":
        return filled_in_blocks(xp, _fill_sign, self, out)
    if self.dtype.kind == "b":
        return xp.logical_or(self, self, out=out)
    return xp.sign(self, out=out)


def _fill_sign(xp: ModuleType, x: Array, out: Array) -> None:
    # Two comparisons as bytes: half the memory traffic of NumPy's sign followed by a search for NaN.
    xp.subtract(xp.greater(x, 0), xp.less(x, 0), out=out, dtype=x.dtype)


@compiled
def round_half_even(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return round to the nearest integer, halves to the even one. Integers stay as they are."""
    return (xp.positive if self.dtype.kind in "iu" else xp.rint)(self, out=out)


def round_to_decimals(xp: ModuleType, self: Array, decimals: int, out: Array | None = None) -> Array:
    """Return round to `decimals` digits after the point, or before it where negative, as PyTorch does: scale, round
    half to even, scale back."""
    if self.dtype.kind in "iu":
        if decimals == 0:
            return xp.positive(self, out=out)
        raise DispatchError(f"round.decimals: not implemented for {self.dtype}")
    ten = self.dtype.type(10.0 ** abs(decimals) if abs(decimals) < 309 else np.inf)
    if decimals >= 0:
        return xp.true_divide(xp.rint(self * ten), ten, out=out)
    return xp.multiply(xp.rint(self / ten), ten, out=out)


@compiled
def sigmoid(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return 1 / (1 + exp(-self))."""
    return filled_in_blocks(xp, _fill_sigmoid, self, out)


def _fill_sigmoid(xp: ModuleType, x: Array, out: Array) -> None:
    xp.negative(x, out=out)
    xp.exp(out, out=out)
    out += 1
    xp.reciprocal(out, out=out)


@compiled
def gelu(xp: ModuleType, self: Array, approximate: str, out: Array | None = None) -> Array:
    """Return `self` times the standard normal distribution at it: exactly ("none") or through tanh ("tanh")."""
    if approximate == "tanh":
        return filled_in_blocks(xp, _gelu_by_tanh, self, out)
    if self.dtype.itemsize == 4:
        return filled_in_blocks(xp, single_precision.fill_gelu, self, out)
    factor = xp.asarray(erf(xp, self * self.dtype.type(0.7071067811865476)))
    factor += 1
    factor *= 0.5
    return xp.multiply(self, factor, out=or_reused(out, factor, self))


def _gelu_by_tanh(xp: ModuleType, x: Array, out: Array) -> None:
    xp.multiply(gate_by_tanh(xp, x, xp.empty_like(x)), x, out=out)


def gate_by_tanh(xp: ModuleType, x: Array, out: Array) -> Array:
    """Write (1 + tanh(u)) / 2 for `gelu`'s u to `out`: 1 / (1 + exp(-2u)) loses no digits where tanh is nearly -1."""
    xp.multiply(x, x, out=out)
    out *= -2 * TANH_CUBIC
    out -= 2 * TANH_FACTOR
    out *= x
    xp.exp(out, out=out)
    out += 1
    xp.reciprocal(out, out=out)
    return out


def _stored(xp: ModuleType, result: Array, out: Array | None) -> Array:
    if out is None:
        return result
    out[...] = result
    return out
