"""The error function, its kin and GELU in float32: one polynomial each, without a case for any interval.

Each function writes to `out`, which may be its operand's own memory. Coefficients: polynomials whose largest relative
error of the result is smallest, fitted by weighted least squares; no more than 1e-8 but where it is said.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from opwright_kernels.approximation import polynomial, put_where

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
# erfc(x) exp(x²) / y on [0, 10.2], of y - 0.5 for y = 1 / (1 + 0.4 x).
_ERFC_SLOPE, _ERFC_END = 0.4, 10.5
_ERFC = (
    0.42161272776950054,
    0.6437213852905462,
    0.7262626109823072,
    0.5480148289693969,
    0.18150918809981098,
    -0.10779254464968144,
    -0.12299416372064209,
    0.026910484427861425,
    0.06447677046177139,
    -0.029205732104124145,
)
# erfinv(x) / x, of -log(1 - x²) up to 5, and of the root of that less 3.
_ERFINV = (
    0.8862269206018576,
    0.23201381385885433,
    0.011548679493234178,
    -0.0023343553499869624,
    -0.00012741401258148713,
    4.4522210304002916e-05,
    3.999173374293329e-06,
    -1.9798798505735792e-06,
    2.2142375472142235e-07,
    -8.809772456178568e-09,
)
_ERFINV_TAIL = (
    2.8329768131239588,
    1.0016747690488301,
    0.009444584738600391,
    -0.007634264046003763,
    0.005692557944499739,
    -0.003610266957425722,
    0.0014719233802015933,
    -3.566575410916852e-05,
    -0.00030034099363895043,
    0.00010375153275096181,
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
    """Compute 1 - erf(x), of |x|: for negative x it is 2 less that of -x."""
    size = xp.abs(x)
    xp.minimum(size, _ERFC_END, out=size)
    y = size * _ERFC_SLOPE
    y += 1
    xp.reciprocal(y, out=y)
    value = polynomial(_ERFC, y - 0.5)
    value *= y
    value *= _exp_of_square(xp, size, y)
    sign = xp.copysign(1, x, out=size)
    value *= sign
    xp.subtract(1, sign, out=sign)
    xp.add(value, sign, out=out)


def _exp_of_square(xp: ModuleType, size: Array, scratch: Array) -> Array:
    """Return exp(-size²), of the square itself and not of what is rounded of it. `scratch` is overwritten."""
    square = size * size
    # The upper half of the digits, whose square is exact, and the rest: size² = upper² + (size - upper) (size + upper).
    upper = xp.bitwise_and(size.view("int32"), -4096, out=scratch.view("int32")).view(size.dtype)
    lost = size + upper
    lost *= size - upper
    upper *= upper
    upper -= square
    lost += upper
    xp.negative(square, out=square)
    xp.exp(square, out=square)
    lost *= square
    square -= lost
    return square


def fill_erfinv(xp: ModuleType, x: Array, out: Array) -> None:
    """Compute the inverse of erf."""
    logarithm = 1 - x
    logarithm *= 1 + x
    xp.log(logarithm, out=logarithm)
    xp.negative(logarithm, out=logarithm)
    value = polynomial(_ERFINV, logarithm)
    value *= x
    far = logarithm > 4.95
    if far.any():
        rows = (each.reshape(-1) for each in (value, far, x, logarithm))
        flat, is_far, *operands = rows
        put_where(xp, flat, is_far, lambda v, w: _erfinv_tail(xp, v, w), *operands)
        value = flat.reshape(x.shape)
    xp.positive(value, out=out)


def _erfinv_tail(xp: ModuleType, x: Array, logarithm: Array) -> Array:
    value = polynomial(_ERFINV_TAIL, xp.sqrt(logarithm) - 3)
    return x * xp.where(xp.isinf(logarithm), math.inf, value)
