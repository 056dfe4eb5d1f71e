"""Slopes of special functions, each by formulas that keep its digits: series where terms of the usual one cancel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import opwright

Tensor = Any
aten = opwright.ops.aten

# Coefficients of t^k, of as many k as float64 needs where each series is used.
_SINC = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 11)]
_BESSEL = [(2 * k + 1) / (2 * math.factorial(k) * math.factorial(k + 1)) for k in range(10)]
_ERFCX = [(-1.0) ** k * math.prod(range(1, 2 * k + 2, 2)) for k in range(13)]


def _sum(coefficients: Sequence[float], t: Tensor) -> Tensor:
    """Return the sum of a power series."""
    total: Any = coefficients[-1]
    for each in reversed(coefficients[:-1]):
        total = total * t + each
    return total


def sinc_derivative(x: Tensor) -> Tensor:
    """Return (cos(πx) πx - sin(πx)) / (πx²), whose terms cancel near 0: by its series there."""
    near = aten.abs(x) < 0.3
    angle, small = aten.where(near, 1, x) * math.pi, aten.where(near, x, 0) * math.pi
    slope = (aten.cos(angle) * angle - aten.sin(angle)) / (angle * angle)
    return aten.where(near, small * _sum(_SINC, small * small), slope) * math.pi


def bessel_j1_derivative(x: Tensor, result: Tensor) -> Tensor:
    """Return J₀(x) - J₁(x) / x."""
    near, safe, slope = _near_0(x, -0.25)
    return aten.where(near, slope, aten.special_bessel_j0(safe) - result / safe)


def bessel_y1_derivative(x: Tensor, result: Tensor) -> Tensor:
    """Return Y₀(x) - Y₁(x) / x, infinite at 0."""
    return aten.where(x == 0, math.inf, aten.special_bessel_y0(x) - result / x)


def i1_derivative(x: Tensor, result: Tensor) -> Tensor:
    """Return I₀(x) - I₁(x) / x."""
    near, safe, slope = _near_0(x, 0.25)
    return aten.where(near, slope, aten.i0(safe) - result / safe)


def i1e_derivative(x: Tensor, result: Tensor) -> Tensor:
    """Return the slope of i1e: that of i1, scaled by exp(-|x|), less i1e itself away from 0."""
    near, safe, slope = _near_0(x, 0.25)
    scaled = aten.where(near, slope * aten.exp(-aten.abs(x)), aten.special_i0e(safe) - result / safe)
    return scaled - result * aten.sgn(x)


def _near_0(x: Tensor, factor: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return where x is near 0, x with 1 there, and the slope of a Bessel function of order 1 there, by its series."""
    near = aten.abs(x) < 1
    small = aten.where(near, x, 0)
    return near, aten.where(near, 1, x), _sum(_BESSEL, small * small * factor)


def erfcx_derivative(x: Tensor, result: Tensor) -> Tensor:
    """Return 2x erfcx(x) - 2/√π, whose terms cancel as x grows: by its asymptotic series beyond 10."""
    far = x > 10
    inverse = aten.reciprocal(aten.where(far, x, 10))
    square = inverse * inverse
    slope = square * _sum(_ERFCX, square * 0.5) * -(math.pi**-0.5)
    return aten.where(far, slope, 2 * aten.where(far, 0, x) * result - 2 * math.pi**-0.5)


def log_ndtr_derivative(x: Tensor) -> Tensor:
    """Return the normal density over its integral up to x, both scaled by exp(x²/2) below 0."""
    below = x < 0
    scaled = aten.special_erfcx(aten.where(below, x, 0) * -math.sqrt(0.5))
    above = aten.where(below, 0, x)
    density = aten.exp(-0.5 * above * above) / aten.special_erfc(above * -math.sqrt(0.5))
    return aten.where(below, aten.reciprocal(scaled), density) * math.sqrt(2 / math.pi)
