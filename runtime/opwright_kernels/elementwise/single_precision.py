"""The error function, its kin and GELU in float32: one polynomial each, without a case for any interval.

Each function writes to `out`, which may be its operand's own memory. Coefficients: polynomials whose largest relative
error of the result is smallest, fitted by weighted least squares; no more than 1e-8 but where it is said.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from opwright_kernels.special_functions.approximation import polynomial, put_where

Array = Any

# atanh(erf(x)) / x - 1, of x². The last coefficient is positive, so that far out the value is large, and its tanh 1.
_ERF = (
    0.128379225730896,
    0.10277224332094193,
    -0.00020710805256385356,
    -0.0005944139556959271,
    6.850928912172094e-05,
    1.7109546206484083e-06,
    -1.3888792409488815e-06,
    1.7036506960721454e-07,
    -9.496660346997032e-09,
    2.0807645884080017e-10,
)
# log(p / (1 - p)) / x of the normal distribution function p, of x²; 3.4e-8.
NORMAL = (
    1.5957696437835693,
    0.0726669505238533,
    -6.59746874589473e-05,
    -0.00011030577297788113,
    7.876485142332967e-06,
    -2.604995472665905e-07,
    3.4039575602662353e-09,
)
# erfc(x) exp(x²) (1 + x) on [0, 10.2], of y - 0.5 for y = 1 / (1 + x).
_ERFC_END = 10.5
_ERFC = (
    0.8551671504974365,
    0.4753616750240326,
    -0.38222548365592957,
    -0.11125171929597855,
    0.40632185339927673,
    -0.3061998188495636,
    -0.0781015008687973,
    0.4814387261867523,
    -0.6045001149177551,
    0.17974185943603516,
    0.6067673563957214,
    -0.8576188683509827,
    0.3442709445953369,
)
# (erfinv(x) / x - sqrt(π) / 2) / w, of w = -log(1 - x²) up to 4, and erfinv(x) / x, of the root of that less 3.
_ERFINV_START, _ERFINV_END = 0.8862269520759583, 4
_ERFINV = (
    0.23201315104961395,
    0.011552110314369202,
    -0.0023416648618876934,
    -0.00011945566802751273,
    3.962054688599892e-05,
    5.7772490436036605e-06,
    -2.356124241487123e-06,
    2.643619438913447e-07,
    -1.0851088916297158e-08,
)
_ERFINV_TAIL = (
    2.832976818084717,
    1.001674771308899,
    0.009446052834391594,
    -0.007634181994944811,
    0.005680606700479984,
    -0.003607475897297263,
    0.00150243379175663,
    -4.9095513531938195e-05,
    -0.0003244831459596753,
    0.00011831344454549253,
)


def fill_erf(xp: ModuleType, x: Array, out: Array) -> None:
    """Compute the error function."""
    angle = polynomial(_ERF, x * x)
    angle *= x
    angle += x  # last, since it is the larger part: its digits stay
    xp.tanh(angle, out=out)


def fill_gelu(xp: ModuleType, x: Array, out: Array) -> None:
    """Compute x times the normal distribution function."""
    power = polynomial(NORMAL, x * x)
    power *= x
    xp.negative(power, out=power)
    xp.exp(power, out=power)
    power += 1
    xp.divide(x, power, out=out)


def fill_erfc(xp: ModuleType, x: Array, out: Array) -> None:
    """Compute 1 - erf(x), of |x|: for negative x it is 2 less that of -x. The power and what it
    meets are float64's."""
    size = xp.abs(x)
    xp.minimum(size, _ERFC_END, out=size)
    wide = size.astype("float64")
    size += 1
    xp.reciprocal(size, out=size)
    size -= 0.5
    value = polynomial(_ERFC, size).astype("float64")
    power = wide * wide
    xp.exp(power, out=power)
    wide += 1
    power *= wide
    value /= power
    sign = xp.copysign(1, x, out=size)
    out[...] = value
    out *= sign
    xp.subtract(1, sign, out=sign)
    out += sign


def fill_erfinv(xp: ModuleType, x: Array, out: Array) -> None:
    """Compute the inverse of erf."""
    logarithm = 1 - x
    logarithm *= 1 + x
    xp.log(logarithm, out=logarithm)
    xp.subtract(0, logarithm, out=logarithm)  # 0 of 0, which keeps the sign of x
    value = polynomial(_ERFINV, logarithm)
    value *= logarithm
    value *= x
    value += x * _ERFINV_START
    far = logarithm > _ERFINV_END
    if far.any():
        flat, is_far, operand = (each.reshape(-1) for each in (value, far, x))
        put_where(xp, flat, is_far, lambda v: _erfinv_tail(xp, v.astype("float64")), operand)
        value = flat.reshape(x.shape)
    xp.positive(value, out=out)


def _erfinv_tail(xp: ModuleType, x: Array) -> Array:
    logarithm = -xp.log((1 - x) * (1 + x))
    value = polynomial(_ERFINV_TAIL, xp.sqrt(logarithm) - 3)
    return x * xp.where(xp.isinf(logarithm), math.inf, value)
