"""Orthogonal polynomials: of Chebyshev, Hermite, Laguerre and Legendre, at any degree.

Degrees are whole numbers of a floating dtype, cut off as PyTorch does it; a polynomial of a negative degree is 0. Low
degrees go by the recurrence, all elements together and each as far as its degree; so do all degrees of Hermite,
Laguerre and Legendre. Chebyshev polynomials of high degree are waves of an angle, and exponentials outside [-1, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from opwright_core.core import compiled
from opwright_kernels.special_functions.approximation import blockwise, put_where

Array = Any
Step = Callable[[Array, Array, Array, int], Array]

_LOW = 8  # the largest degree of a Chebyshev polynomial that goes by the recurrence
_HERMITE_LIMITS = {4: 128, 8: 512}  # by itemsize: PyTorch's polynomials of larger degrees are NaN
_OTHER_END = {"t": "t", "u": "u", "v": "w", "w": "v"}  # the kind that at -x is this one at x, but for its sign


@compiled
def chebyshev_polynomial_t(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Chebyshev's polynomial of the first kind: cos(n θ), where x is cos(θ)."""
    return blockwise(xp, lambda xp, x, n: _chebyshev(xp, "t", x, n), out, x, n)


@compiled
def chebyshev_polynomial_u(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Chebyshev's polynomial of the second kind: sin((n + 1) θ) / sin(θ)."""
    return blockwise(xp, lambda xp, x, n: _chebyshev(xp, "u", x, n), out, x, n)


@compiled
def chebyshev_polynomial_v(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Chebyshev's polynomial of the third kind: cos((n + 1/2) θ) / cos(θ / 2)."""
    return blockwise(xp, lambda xp, x, n: _chebyshev(xp, "v", x, n), out, x, n)


@compiled
def chebyshev_polynomial_w(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Chebyshev's polynomial of the fourth kind: sin((n + 1/2) θ) / sin(θ / 2)."""
    return blockwise(xp, lambda xp, x, n: _chebyshev(xp, "w", x, n), out, x, n)


@compiled
def shifted_chebyshev_polynomial_t(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Chebyshev's polynomial of the first kind at 2x - 1."""
    return blockwise(xp, lambda xp, x, n: _chebyshev(xp, "t", x + x - 1, n), out, x, n)


@compiled
def shifted_chebyshev_polynomial_u(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Chebyshev's polynomial of the second kind at 2x - 1."""
    return blockwise(xp, lambda xp, x, n: _chebyshev(xp, "u", x + x - 1, n), out, x, n)


@compiled
def shifted_chebyshev_polynomial_v(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Chebyshev's polynomial of the third kind at 2x - 1."""
    return blockwise(xp, lambda xp, x, n: _chebyshev(xp, "v", x + x - 1, n), out, x, n)


@compiled
def shifted_chebyshev_polynomial_w(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Chebyshev's polynomial of the fourth kind at 2x - 1."""
    return blockwise(xp, lambda xp, x, n: _chebyshev(xp, "w", x + x - 1, n), out, x, n)


@compiled
def hermite_polynomial_h(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Hermite's polynomial of the physicists; NaN beyond degree 128 in float32, 512 in float64."""

    def computed(xp: ModuleType, x: Array, n: Array) -> Array:
        return _hermite(xp, x, n, x + x, lambda x, q, p, k: (x + x) * q - 2 * k * p)

    return blockwise(xp, computed, out, x, n)


@compiled
def hermite_polynomial_he(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Hermite's polynomial of the probabilists; NaN beyond degree 128 in float32, 512 in float64."""

    def computed(xp: ModuleType, x: Array, n: Array) -> Array:
        return _hermite(xp, x, n, x, lambda x, q, p, k: x * q - k * p)

    return blockwise(xp, computed, out, x, n)


@compiled
def laguerre_polynomial_l(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Laguerre's polynomial. It takes as many steps as the largest degree says."""

    def computed(xp: ModuleType, x: Array, n: Array) -> Array:
        degrees = _whole(xp, n)
        degrees = xp.where((x == 0) & (degrees > 0), 0, degrees)  # 1 at 0
        return _by_recurrence(xp, x, degrees, 1 - x, lambda x, q, p, k: ((2 * k + (1 - x)) * q - k * p) / (k + 1))

    return blockwise(xp, computed, out, x, n)


@compiled
def legendre_polynomial_p(xp: ModuleType, x: Array, n: Array, out: Array | None = None) -> Array:
    """Return Legendre's polynomial. It takes as many steps as the largest degree says."""

    def computed(xp: ModuleType, x: Array, n: Array) -> Array:
        degrees = _whole(xp, n)
        degrees = xp.where((xp.abs(x) == 1) & (degrees > 1), degrees % 2, degrees)  # 1 or -1 at the ends
        return _by_recurrence(xp, x, degrees, x, lambda x, q, p, k: ((2 * k + 1) * x * q - k * p) / (k + 1))

    return blockwise(xp, computed, out, x, n)


def _whole(xp: ModuleType, n: Array) -> Array:
    """Return degrees as int64: -1 for what is no number of 64 bits."""
    return xp.where(xp.abs(n) < 2.0**63, n, -1).astype("int64")


def _by_recurrence(xp: ModuleType, x: Array, degrees: Array, first: Array, step: Step) -> Array:
    """Return the polynomials that follow 1 and `first`: `step(x, q, p, k)` is that of degree k + 1 after `q` and `p`.

    An element leaves the loop where its degree is reached, or where it became NaN.
    """
    result = xp.where(degrees == 0, 1, xp.where(degrees == 1, first, 0)).astype(x.dtype)
    positions = xp.flatnonzero(degrees > 1)
    x, q, degrees = x[positions], first[positions], degrees[positions]
    p, k = xp.ones_like(q), 0
    while positions.size:
        k += 1
        p, q = q, step(x, q, p, k)
        done = (degrees == k + 1) | xp.isnan(q)
        if done.any():
            result[positions[done]] = q[done]
            x, q, p, degrees, positions = (each[~done] for each in (x, q, p, degrees, positions))
    return result


def _hermite(xp: ModuleType, x: Array, n: Array, first: Array, step: Step) -> Array:
    degrees = _whole(xp, n)
    too_high = degrees > _HERMITE_LIMITS[x.dtype.itemsize]
    result = _by_recurrence(xp, x, xp.where(too_high, 0, degrees), first, step)
    result[too_high] = xp.nan
    return result


def _chebyshev(xp: ModuleType, kind: str, x: Array, n: Array) -> Array:
    degrees = _whole(xp, n)
    first = {"t": x, "u": x + x, "v": x + x - 1, "w": x + x + 1}[kind]
    is_low = degrees <= _LOW
    result = _by_recurrence(xp, x, xp.where(is_low, degrees, 0), first, lambda x, q, p, k: (x + x) * q - p)
    # Where two numbers of the recurrence are infinite, it has lost the third one.
    positions = xp.flatnonzero(~is_low | xp.isnan(result))
    if positions.size:
        result[positions] = _by_angle(xp, kind, x[positions].astype("float64"), degrees[positions].astype("float64"))
    return result


def _by_angle(xp: ModuleType, kind: str, x: Array, n: Array) -> Array:
    """Return Chebyshev polynomials in float64: of -x for negative x, with the sign of an odd degree."""
    size, result = xp.abs(x), x.copy()
    for mask, its_kind in ((x >= 0, kind), (x < 0, _OTHER_END[kind])):
        put_where(xp, result, mask & (size <= 1), lambda v, m, k=its_kind: _within(xp, k, v, m), size, n)
        put_where(xp, result, mask & (size > 1), lambda v, m, k=its_kind: _beyond(xp, k, v, m), size, n)
    return xp.where((x < 0) & (n % 2 == 1), -result, result)


def _within(xp: ModuleType, kind: str, x: Array, n: Array) -> Array:
    """Return polynomials on [0, 1]: waves of the angle, whose limits at 1 are filled in."""
    sine = xp.sqrt((1 - x) * 0.5)  # of half the angle
    half = xp.arcsin(sine)
    if kind == "t":
        return xp.cos(2 * n * half)
    if kind == "v":
        return xp.cos((2 * n + 1) * half) / xp.cos(half)
    count, below = (2 * n + 1, sine) if kind == "w" else (n + 1, xp.sqrt((1 - x) * (1 + x)))
    wave = xp.sin((count if kind == "w" else 2 * count) * half)
    return xp.where(sine == 0, count, wave / xp.where(sine == 0, 1, below))


def _beyond(xp: ModuleType, kind: str, x: Array, n: Array) -> Array:
    """Return polynomials from 1 on: exp(n θ) of the hyperbolic angle θ, and a factor between 1/2 and 2n + 1."""
    angle = 2 * xp.arcsinh(xp.sqrt((x - 1) * 0.5))
    if kind == "t":
        factor = 0.5 * (1 + xp.exp(-2 * n * angle))
    elif kind == "v":
        factor = (1 + xp.exp(-(2 * n + 1) * angle)) / (1 + xp.exp(-angle))
    elif kind == "w":
        factor = xp.expm1(-(2 * n + 1) * angle) / xp.expm1(-angle)
    else:
        factor = xp.expm1(-2 * (n + 1) * angle) / xp.expm1(-2 * angle)
    return xp.exp(n * angle) * factor
