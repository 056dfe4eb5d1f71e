"""Functions of one operand, and of bits, where ATen's rules are not those of one NumPy function."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import to_complex
from opwright_core.core import compiled
from opwright_kernels.elementwise.arithmetic import sign
from opwright_kernels.reducing.sorting import sortable
from opwright_kernels.special_functions.approximation import filled_in_blocks

Array = Any


@compiled
def fractional_part(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return what stands behind the point, with the sign of `self`; NaN for infinities."""
    return filled_in_blocks(xp, _fill_fraction, self, out)


def _fill_fraction(xp: ModuleType, x: Array, out: Array) -> None:
    xp.subtract(x, xp.trunc(x), out=out)


def sgn(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the sign; of a complex number the one of length 1 in its direction, 0 for 0."""
    if self.dtype.kind != "c":
        return sign(xp, self, out)
    length = xp.absolute(self)
    return xp.divide(self, xp.where(length == 0, length.dtype.type(1), length), out=out)


@compiled
def angle(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the angle of a complex number; of a real one 0, or pi where it is negative."""
    if self.dtype.kind == "c":
        return xp.arctan2(self.imag, self.real, out=out)
    if out is None and self.dtype.kind == "f":
        return filled_in_blocks(xp, _fill_angle, self, None)
    below = xp.multiply(xp.less(self, 0), self.dtype.type(np.pi), dtype=self.dtype)
    return xp.where(xp.isnan(self), self, below)


def _fill_angle(xp: ModuleType, x: Array, out: Array) -> None:
    xp.multiply(xp.less(x, 0), x.dtype.type(np.pi), out=out, dtype=x.dtype)
    nothing = xp.isnan(x)
    if nothing.any():
        xp.copyto(out, x, where=nothing)


def conjugate(xp: ModuleType, self: Array) -> Array:
    """Return the conjugate; a real array itself."""
    return xp.conjugate(self) if self.dtype.kind == "c" else self


@compiled
def sinc(xp: ModuleType, self: Array) -> Array:
    """Return sin(pi self) / (pi self), 1 at 0."""
    angle = self * np.pi
    if xp is np and np.count_nonzero(angle) == angle.size:
        return np.sin(angle) / angle
    one, zero = self.dtype.type(1), angle == 0
    return xp.where(zero, one, xp.sin(angle) / xp.where(zero, one, angle))


@compiled
def logit(xp: ModuleType, self: Array, eps: float | None, out: Array | None = None) -> Array:
    """Return log(self / (1 - self)), of `self` held within [eps, 1 - eps] if `eps` is given: first above the one, then
    below the other, which differ for an `eps` above 1/2."""
    held = self
    if eps is not None and eps >= 0:
        low, high = self.dtype.type(eps), self.dtype.type(1) - self.dtype.type(eps)
        held = xp.where(self < low, low, xp.minimum(self, high))
    return xp.log(held / (1 - held), out=out)


@compiled
def entr(xp: ModuleType, self: Array) -> Array:
    """Return -self log(self): 0 at 0, -inf below it."""
    result = -self * xp.log(xp.where(self > 0, self, self.dtype.type(1)))
    return xp.where(self < 0, self.dtype.type(-np.inf), xp.where(self == 0, self.dtype.type(0), result))


@compiled
def xlogy(xp: ModuleType, self: Array, other: Array) -> Array:
    """Return self log(other): 0 where `self` is, unless `other` is NaN."""
    result = self * xp.log(other)
    return xp.where((self == 0) & (other == other), result.dtype.type(0), result)


@compiled
def xlog1py(xp: ModuleType, self: Array, other: Array) -> Array:
    """Return self log(1 + other): 0 where `self` is, unless `other` is NaN."""
    result = self * xp.log1p(other)
    return xp.where((self == 0) & (other == other), result.dtype.type(0), result)


def isinf(xp: ModuleType, self: Array) -> Array:
    """Whether an element, or a part of it, is infinite."""
    return xp.isinf(self)


def isreal(xp: ModuleType, self: Array) -> Array:
    """Whether the imaginary part is zero."""
    return xp.equal(self.imag, 0) if self.dtype.kind == "c" else xp.ones_like(self, dtype=bool)


def signbit(xp: ModuleType, self: Array) -> Array:
    """Whether the sign is minus, of -0.0 and NaN too."""
    return xp.signbit(self) if self.dtype.kind == "f" else xp.less(self, 0)


@compiled
def nan_to_num(xp: ModuleType, self: Array, nan: float | None, posinf: float | None, neginf: float | None) -> Array:
    """Put numbers instead of NaN (0) and of the infinities (the largest and lowest of the dtype)."""
    if self.dtype.kind in "biu":
        return self
    if self.dtype.kind == "c":
        result = self.copy()
        result.real = nan_to_num(xp, self.real, nan, posinf, neginf)
        result.imag = nan_to_num(xp, self.imag, nan, posinf, neginf)
        return result
    cast, limits = self.dtype.type, ml_dtypes.finfo(self.dtype)  # type: ignore[no-untyped-call]
    result = xp.where(xp.isnan(self), cast(nan or 0), self)
    infinite = xp.isinf(self)
    if infinite.any():
        result[infinite & (self > 0)] = limits.max if posinf is None else posinf
        result[infinite & (self < 0)] = limits.min if neginf is None else neginf
    return result


def shift_left(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Move bits up; 0 where `other` is negative or not less than the number of bits."""
    if xp is np:  # which has this rule itself
        return xp.left_shift(self, other, out=out)
    inside = (other >= 0) & (other < 8 * self.itemsize)
    return xp.multiply(xp.left_shift(self, xp.where(inside, other, other.dtype.type(0))), inside, out=out)


def shift_right(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Move bits down, the sign kept; all of them where `other` is negative or not less than the number of bits."""
    if xp is np:
        return xp.right_shift(self, other, out=out)
    last = self.dtype.type(8 * self.itemsize - 1)
    inside = (other >= 0) & (other <= last)
    if self.dtype.kind == "u":
        return xp.multiply(xp.right_shift(self, xp.where(inside, other, other.dtype.type(0))), inside, out=out)
    return xp.right_shift(self, xp.where(inside, other, last), out=out)


def isin(xp: ModuleType, elements: Array, test_elements: Array, assume_unique: bool, invert: bool) -> Array:
    """Whether each element is one of the others."""
    if xp is not np:  # CuPy takes its own arrays alone
        elements, test_elements = (sortable(xp, xp.asarray(each)) for each in (elements, test_elements))
    return xp.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


def complex_of_parts(xp: ModuleType, real: Array, imag: Array) -> Array:
    """Return the complex numbers of these real and imaginary parts, which broadcast."""
    shape = layouts.broadcast_shapes([real.shape, imag.shape])
    result = xp.empty(shape, to_complex(real.dtype))
    result.real = real
    result.imag = imag
    return result


def complex_of_polar(xp: ModuleType, abs: Array, angle: Array) -> Array:
    """Return the complex numbers of these lengths and angles, which broadcast."""
    return complex_of_parts(xp, abs * xp.cos(angle), abs * xp.sin(angle))


def mantissa_and_exponent(xp: ModuleType, self: Array) -> tuple[Array, Array]:
    """Return fractions from 0.5 to 1 and powers of 2, whose products are the elements; 0 and what is not finite have
    the power 0 (`frexp`)."""
    mantissa, exponent = xp.frexp(self)
    return mantissa, xp.where(xp.isfinite(self), exponent, 0)
