"""Backward functions of operators on each element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import opwright
from opwright.autograd.quick import conjugate_of, is_array_alone
from opwright_core.arrays.dtypes import COMPLEX, as_dtype
from opwright_core.core import compiled

Tensor = Any
aten = opwright.ops.aten


@compiled
def scaled(value: Tensor, factor: Any) -> Tensor:
    """Return the product; `value` itself where the factor is the number 1."""
    return value if isinstance(factor, bool | int | float | complex) and factor == 1 else value * factor


def real_part_for(dtype: Any, value: Tensor) -> Tensor:
    """Return the real part, if `dtype` is real."""
    is_real = as_dtype(dtype) not in COMPLEX
    return aten.real(value) if is_real and as_dtype(value.dtype) in COMPLEX else value


def on_device(value: Tensor, device: Any) -> Tensor:
    """Return the value on another device, itself where it is there."""
    return value if value.device == device else aten.to(value, device=device)


def one_less_square(x: Tensor) -> Tensor:
    """Return 1 - x². Near 1 it is a product, which keeps the digits; near 0 that would lose the digits of the slope."""
    return aten.where(aten.abs(x) < 0.5, 1 - x * x, (1 - x) * (1 + x))


def acosh_derivative(x: Tensor) -> Tensor:
    """Return 1 / sqrt(x² - 1), on the principal branch. The product keeps the digits near 1."""
    if as_dtype(x.dtype) in COMPLEX:
        return aten.rsqrt(x + 1) * aten.rsqrt(x - 1)
    size = aten.abs(x)
    return aten.rsqrt((size - 1) * (size + 1))


def asinh_derivative(x: Tensor) -> Tensor:
    """Return 1 / sqrt(x² + 1), without the square of a real number, which may overflow."""
    if as_dtype(x.dtype) in COMPLEX:
        return aten.rsqrt(x * x + 1)
    return aten.reciprocal(aten.hypot(x, aten.ones_like(x)))


def angle_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of the angle; 0 for real numbers and at 0."""
    if as_dtype(self.dtype) not in COMPLEX:
        return aten.zeros_like(self)
    size = aten.abs(self)
    moved = aten.where(size == 0, 0.0, self / size)
    away = aten.complex(-aten.imag(moved), aten.real(moved))
    return aten.where(size == 0, 0.0, grad * away / size)


def sgn_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """Return the part of the gradient across the number, over its size; 0 for real numbers and at 0."""
    if as_dtype(self.dtype) not in COMPLEX:
        return aten.zeros_like(grad)
    size = aten.abs(self)
    across = grad - aten.real(grad * aten.conj(result)) * result
    return aten.where(size == 0, 0.0, across / size)


def atan2_denominator(y: Tensor, x: Tensor) -> Tensor:
    """Return y² + x², and where that is 0 something that makes quotients 0."""
    square = y * y + x * x
    return aten.where(square == 0, math.inf, square)


def is_between(x: Tensor, low: Any, high: Any) -> Tensor:
    """Whether `low` < x < `high`, each of which may be None."""
    if low is None:
        return x < high
    return x > low if high is None else (x > low) & (x < high)


def clamp_backward(grad: Tensor, self: Tensor, low: Tensor | None, high: Tensor | None) -> Tensor:
    """Return the gradient of what is clamped: half of it at a bound, none beyond. NaN is not beyond."""
    if low is None:
        return extremum_backward(grad, self, high, self > high)
    if high is None:
        return extremum_backward(grad, self, low, self < low)
    is_shared = ((self == low) | (self == high)) & (low < high)
    return aten.where((self < low) | (self > high), 0, aten.where(is_shared, grad / 2, grad))


def clamp_bounds_backward(
    grad: Tensor, self: Tensor, low: Tensor | None, high: Tensor | None, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of the bounds: `high` wins where it is less than `low`; `self` has the other half at one of
    them, and all of it where they are equal, too."""
    if low is None:
        return None, extremum_backward(grad, self, high, self < high) if mask[1] else None
    if high is None:
        return extremum_backward(grad, self, low, self > low) if mask[0] else None, None
    of_low = of_high = None
    shared = aten.where(low < high, grad / 2, 0)
    if mask[0]:
        of_low = aten.where((self < low) & (low <= high), grad, aten.where(self == low, shared, 0))
    if mask[1]:
        wins = ((self > high) & (low <= high)) | (low > high)
        of_high = aten.where(wins, grad, aten.where(self == high, shared, 0))
    return of_low, of_high


def clamp_forward(
    self: Tensor, self_t: Tensor, low: Tensor | None, low_t: Tensor, high: Tensor | None, high_t: Tensor
) -> Tensor:
    """Return the tangent of the clamped value: that of whichever of the three it is, and of two the mean. Where `self`
    or its only bound is NaN, it is the bound's, as PyTorch's."""
    if low is None:
        return extremum_forward(self, self_t, high, high_t, self < high)
    if high is None:
        return extremum_forward(self, self_t, low, low_t, self > low)
    above = aten.where((self == high) & (low < high), (self_t + high_t) / 2, self_t)
    inside = aten.where((self == low) & (low < high), (self_t + low_t) / 2, aten.where(self < low, low_t, above))
    return aten.where((self > high) | (high < low), high_t, inside)


def copysign_derivative(self: Tensor, result: Tensor) -> Tensor:
    """Whether the sign changed, as 1 or -1; 0 at 0."""
    return aten.where(self == 0, 0.0, result / self)


def extremum_backward(grad: Tensor, self: Tensor, other: Tensor, loses: Tensor) -> Tensor:
    """Return the gradient of an operand: half of it where both are equal, none where it loses. Where one is NaN,
    neither does."""
    return aten.where(self == other, grad / 2, aten.where(loses, 0, grad))


def extremum_forward(self: Tensor, self_t: Tensor, other: Tensor, other_t: Tensor, wins: Tensor) -> Tensor:
    """Return the tangent of the operand that wins, the mean of both where they are equal, and that of `other` where one
    is NaN. What loses may have an infinite tangent."""
    return aten.where(self == other, (self_t + other_t) / 2, aten.where(wins, self_t, other_t))


def pow_self_backward(grad: Tensor, self: Tensor, exponent: Any) -> Tensor:
    """Return grad * exponent * self^(exponent - 1), and 0 where the exponent is."""
    if isinstance(exponent, bool | int | float | complex):
        if exponent == 0:
            return aten.zeros_like(grad)
        return grad * conjugate_of(
            exponent * (self if exponent == 2 and is_array_alone(self) else aten.pow(self, exponent - 1))
        )
    slope = exponent * aten.pow(self, exponent - 1)
    return aten.where(exponent == 0, 0.0, grad * aten.conj(slope))


def pow_exponent_backward(grad: Tensor, self: Any, exponent: Tensor, result: Tensor) -> Tensor:
    """Return grad * result * log(self), and 0 where self is 0 and the exponent is real and not negative.

    The logarithm is taken in the result's dtype: that of a negative number is complex, if the result is.
    """
    if isinstance(self, bool | int | float | complex):
        base = aten.scalar_tensor(self, dtype=result.dtype, device=result.device)
    else:
        base = aten.to(self, result.dtype)
    if as_dtype(exponent.dtype) in COMPLEX:
        is_constant = (base == 0) & (aten.real(exponent) >= 0) & (aten.imag(exponent) == 0)
    else:
        is_constant = (base == 0) & (exponent >= 0)
    return grad * aten.conj(aten.where(is_constant, 0, result * aten.log(base)))
