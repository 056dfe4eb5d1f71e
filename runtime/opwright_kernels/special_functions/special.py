"""The error function and its relatives: of the normal distribution, inverse and scaled ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.core import compiled
from opwright_kernels.elementwise import single_precision
from opwright_kernels.special_functions.approximation import blockwise, filled_in_blocks, one_by_one, put_where, ratio

Array = Any

# The error function as rational functions, one numerator and denominator per interval of |x|, lowest coefficient
# first: fdlibm's.
_ERF_NEAR_ZERO = (
    (
        1.28379167095512558561e-01,
        -3.25042107247001499370e-01,
        -2.84817495755985104766e-02,
        -5.77027029648944159157e-03,
        -2.37630166566501626084e-05,
    ),
    (
        1.0,
        3.97917223959155352819e-01,
        6.50222499887672944485e-02,
        5.08130628187576562776e-03,
        1.32494738004321644526e-04,
        -3.96022827877536812320e-06,
    ),
)
_ERF_NEAR_ONE = (
    (
        -2.36211856075265944077e-03,
        4.14856118683748331666e-01,
        -3.72207876035701323847e-01,
        3.18346619901161753674e-01,
        -1.10894694282396677476e-01,
        3.54783043256182359371e-02,
        -2.16637559486879084300e-03,
    ),
    (
        1.0,
        1.06420880400844228286e-01,
        5.40397917702171048937e-01,
        7.18286544141962662868e-02,
        1.26171219808761642112e-01,
        1.36370839120290507362e-02,
        1.19844998467991074170e-02,
    ),
)
_ERF_MIDDLE = (
    (
        -9.86494403484714822705e-03,
        -6.93858572707181764372e-01,
        -1.05586262253232909814e01,
        -6.23753324503260060396e01,
        -1.62396669462573470355e02,
        -1.84605092906711035994e02,
        -8.12874355063065934246e01,
        -9.81432934416914548592e00,
    ),
    (
        1.0,
        1.96512716674392571292e01,
        1.37657754143519042600e02,
        4.34565877475229228821e02,
        6.45387271733267880336e02,
        4.29008140027567833386e02,
        1.08635005541779435134e02,
        6.57024977031928170135e00,
        -6.04244152148580987438e-02,
    ),
)
_ERF_TAIL = (
    (
        -9.86494292470009928597e-03,
        -7.99283237680523006574e-01,
        -1.77579549177547519889e01,
        -1.60636384855821916062e02,
        -6.37566443368389627722e02,
        -1.02509513161107724954e03,
        -4.83519191608651397019e02,
    ),
    (
        1.0,
        3.03380607434824582924e01,
        3.25792512996573918826e02,
        1.53672958608443695994e03,
        3.19985821950859553908e03,
        2.55305040643316442583e03,
        4.74528541206955367215e02,
        -2.24409524465858183362e01,
    ),
)
_ERF_AT_ONE = 8.45062911510467529297e-01

# The quantiles of the normal distribution: Wichura's algorithm AS 241, about the median, and in the tails.
_QUANTILE_CENTRE = (
    (
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
_QUANTILE_TAIL = (
    (
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
_QUANTILE_FAR = (
    (
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ),
    (
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)
_SQRT_HALF = 0.7071067811865476


@compiled
def erf(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the error function, within a few units in the last place of the floating-point dtype."""
    found = one_by_one(xp, math.erf, self, out)
    if found is not None:
        return found
    if self.dtype.itemsize == 4:
        return filled_in_blocks(xp, single_precision.fill_erf, self, out)
    return blockwise(xp, _erf, out, self)


def _erf(xp: ModuleType, x: Array) -> Array:
    size = xp.abs(x)
    result = size.copy()
    put_where(xp, result, size < 0.84375, lambda v: v + v * ratio(_ERF_NEAR_ZERO, v * v), size)
    near_one = (size >= 0.84375) & (size < 1.25)
    put_where(xp, result, near_one, lambda v: _ERF_AT_ONE + ratio(_ERF_NEAR_ONE, v - 1), size)
    put_where(xp, result, size >= 1.25, lambda v: 1 - _erfc_tail(xp, xp.minimum(v, 6)), size)
    return xp.copysign(result, x)


@compiled
def erfc(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return 1 - erf(self), exact to the last places where that is tiny."""
    found = one_by_one(xp, math.erfc, self, out)
    if found is not None:
        return found
    if self.dtype.itemsize == 4:
        return filled_in_blocks(xp, single_precision.fill_erfc, self, out)
    return blockwise(xp, erfc_of_block, out, self)


def erfc_of_block(xp: ModuleType, x: Array) -> Array:
    """Return what `erfc` does, of a 1-d array of float32 or float64."""
    size = xp.abs(x)
    result = size.copy()

    def near_zero(v: Array) -> Array:
        rest = v * ratio(_ERF_NEAR_ZERO, v * v)
        return xp.where(v < 0.25, 1 - (v + rest), 0.5 - ((v - 0.5) + rest))

    def near_one(v: Array) -> Array:
        value = ratio(_ERF_NEAR_ONE, xp.abs(v) - 1)
        return xp.where(v > 0, (1 - _ERF_AT_ONE) - value, (1 + _ERF_AT_ONE) + value)

    def tail(v: Array) -> Array:
        value = _erfc_tail(xp, xp.minimum(xp.abs(v), 30))
        return xp.where(v > 0, value, 2 - value)

    put_where(xp, result, size < 0.84375, near_zero, x)
    put_where(xp, result, (size >= 0.84375) & (size < 1.25), near_one, x)
    put_where(xp, result, size >= 1.25, tail, x)
    return result


def _erfc_tail(xp: ModuleType, v: Array) -> Array:
    """Return erfc from 1.25 on. The square of `v` is taken of its upper half, exactly, and the rest apart."""
    split = v * (2.0**27 + 1 if v.dtype.itemsize == 8 else 2.0**12 + 1)
    upper = split - (split - v)
    return xp.exp(-upper * upper - 0.5625) * xp.exp((upper - v) * (upper + v) + _tail_exponent(xp, v)) / v


def _tail_exponent(xp: ModuleType, v: Array) -> Array:
    inverse = 1 / (v * v)
    result = xp.empty_like(v)
    put_where(xp, result, v < 1 / 0.35, lambda w: ratio(_ERF_MIDDLE, w), inverse)
    put_where(xp, result, v >= 1 / 0.35, lambda w: ratio(_ERF_TAIL, w), inverse)
    return result


@compiled
def erfcx(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return exp(self²) erfc(self)."""
    return blockwise(xp, _erfcx, out, self)


def _erfcx(xp: ModuleType, x: Array) -> Array:
    result = x.copy()
    put_where(xp, result, x < 1.25, lambda v: xp.exp(v * v) * erfc_of_block(xp, v), x)
    put_where(xp, result, x >= 1.25, lambda v: xp.exp(_tail_exponent(xp, v) - 0.5625) / v, x)
    return result


@compiled
def log_ndtr(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the logarithm of the normal distribution function."""
    return blockwise(xp, _log_ndtr, out, self)


def _log_ndtr(xp: ModuleType, x: Array) -> Array:
    t = x * _SQRT_HALF
    result = t.copy()
    put_where(xp, result, x < -1, lambda v: xp.log(0.5 * _erfcx(xp, -v)) - v * v, t)
    put_where(xp, result, x >= -1, lambda v: xp.log1p(-0.5 * erfc_of_block(xp, v)), t)
    return result


@compiled
@np.errstate(all="ignore")
def erfinv(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the inverse of erf: infinite at -1 and 1, NaN beyond, of which NumPy, which has no such function, warns of
    none."""
    if self.dtype.itemsize == 4:
        found = one_by_one(xp, _erfinv_of_one, self, out)
        return filled_in_blocks(xp, single_precision.fill_erfinv, self, out) if found is None else found
    return blockwise(xp, lambda xp, y: _SQRT_HALF * _quantile(xp, 0.5 * y, 0.5 * (1 - xp.abs(y))), out, self)


def _erfinv_of_one(x: float) -> float:
    """Return the inverse of erf in more digits than float32 has. Raises ValueError where it may not."""
    if not 1e-6 < abs(x) < 1:
        raise ValueError("out of the range in which the quantile of (1 + x) / 2 serves")
    return _quantile_of_one()(0.5 * x + 0.5) * _SQRT_HALF


@cache
def _quantile_of_one() -> Callable[[float], float]:
    from statistics import NormalDist  # decimals, fractions and random numbers, which other functions do without

    return NormalDist().inv_cdf


@compiled
def ndtri(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the inverse of the normal distribution function: infinite at 0 and 1, NaN beyond."""
    return blockwise(xp, lambda xp, p: _quantile(xp, p - 0.5, xp.minimum(p, 1 - p)), out, self)


def _quantile(xp: ModuleType, distance: Array, tail: Array) -> Array:
    """Return where the distribution function is 0.5 + `distance`, and `tail` is what it lacks to 0 or 1."""
    size = xp.abs(distance)
    inside = tail > 0
    root = xp.sqrt(-xp.log(xp.where(inside, tail, tail.dtype.type(0.5))))
    result = xp.full_like(distance, math.nan)
    put_where(xp, result, size <= 0.425, lambda q: q * ratio(_QUANTILE_CENTRE, 0.180625 - q * q), size)
    put_where(xp, result, inside & (size > 0.425) & (root <= 5), lambda r: ratio(_QUANTILE_TAIL, r - 1.6), root)
    put_where(xp, result, inside & (size > 0.425) & (root > 5), lambda r: ratio(_QUANTILE_FAR, r - 5), root)
    result[tail == 0] = math.inf
    return xp.copysign(result, distance)
