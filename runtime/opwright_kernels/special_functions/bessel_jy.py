"""Bessel functions of orders 0 and 1, of the first and the second kind; and the spherical one of order 0.

Coefficients: polynomials and rational functions through the Chebyshev nodes of their interval, computed with 50 digits.
Everything is computed in float64.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.core import compiled
from opwright_kernels.special_functions.approximation import in_double, polynomial, put_where, ratio

Array = Any

_BORDER = 5.0
_MIDDLE = 12.5  # of the squares up to the border
_SQRT_PI = 1.7724538509055159
_TWO_OVER_PI = 0.6366197723675814
# The first zeros of J0 and J1, each as a sum of two numbers.
_J0_ZEROS = ((2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17))
_J1_ZEROS = ((3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17))
# J0(x), and J1(x) / x, with these zeros divided out, of x² - 12.5, up to the border.
_J0 = (
    0.0031873556303932387,
    -0.00015368696349731236,
    3.121169393699737e-06,
    -3.6463130831748366e-08,
    2.8077895054138233e-10,
    -1.5421576526466852e-12,
    6.3664869527395e-15,
    -2.05131642458876e-17,
    5.307851309243478e-20,
    -1.1279910179257228e-22,
    2.0048399573202635e-25,
    -3.0252661430142844e-28,
    3.927464134417122e-31,
    -4.428179178284166e-34,
)
_J1 = (
    0.0004323698734106474,
    -1.674613777188814e-05,
    2.829996036544947e-07,
    -2.8239331633162082e-09,
    1.8948010865318846e-11,
    -9.211567318539885e-14,
    3.408637126587343e-16,
    -9.946535653848278e-19,
    2.3509822086493655e-21,
    -4.597069828100189e-24,
    7.564784108540713e-27,
    -1.0625567540392984e-29,
    1.2899562038958223e-32,
    -1.36580536029129e-35,
)
# Y0(x) less 2/π log(x) J0(x), and Y1(x) less 2/π (log(x) J1(x) - 1 / x), this over x; of x² - 12.5.
_Y0 = (
    0.4837248578102995,
    -0.034612465782841,
    -0.0030116887393902645,
    0.00019892039657764323,
    -4.567729022701002e-06,
    5.778749977178521e-08,
    -4.725957372287653e-10,
    2.7251712389728525e-12,
    -1.1719731564657443e-14,
    3.911400796034283e-17,
    -1.0437806149851687e-19,
    2.2797678540549252e-22,
    -4.152843288225089e-25,
    6.40775800650282e-28,
    -8.484438769155257e-31,
    9.753686310431523e-34,
    -9.815785741009403e-37,
)
_Y1 = (
    0.13974939033568806,
    0.007286920670758755,
    -0.0010439693029195979,
    3.396964021646903e-05,
    -5.502334460239116e-07,
    5.4683341057674245e-09,
    -3.707197402511253e-11,
    1.831463457621348e-13,
    -6.901774338009916e-16,
    2.052041666155269e-18,
    -4.940612812129154e-21,
    9.834572146364312e-24,
    -1.6461594502879007e-26,
    2.3499806897353163e-29,
    -2.8955235210168154e-32,
    3.1127642901240393e-35,
    -2.942292313976242e-38,
)
# Beyond the border the functions are waves of the phase t, x - π/4 for order 0 and x - 3π/4 for order 1: J is
# P cos(t) - 5/x Q sin(t), and Y is P sin(t) + 5/x Q cos(t), times sqrt(2 / (π x)). P and Q are of 25 / x².
_P0 = (
    (
        1.0,
        6.802667718671009,
        15.437256744658214,
        14.633209844374118,
        5.945354185773103,
        0.9523427595362864,
        0.04739108692484987,
        0.00035841362798276776,
    ),
    (
        1.0,
        6.805480218671008,
        15.456217714413972,
        14.675495898549888,
        5.984089306314081,
        0.967011350029139,
        0.04939861315444542,
        0.0004236864591376604,
    ),
)
_Q0 = (
    (
        -0.024999999999999994,
        -0.18864431837763918,
        -0.4795829118041508,
        -0.5155747714116562,
        -0.241157776050507,
        -0.04522302626804388,
        -0.0026577865586196866,
        -2.1120733772195763e-05,
    ),
    (
        1.0,
        7.569210235105488,
        19.357812854636105,
        21.05557063038488,
        10.089724545569984,
        1.9979868238297755,
        0.1355898763386044,
        0.0019259962970097054,
    ),
)
_P1 = (
    (
        1.0,
        6.712964144224935,
        14.991274731792316,
        13.935202983175865,
        5.528857163458196,
        0.8619304267738689,
        0.0420876903316019,
        0.0003546084743973066,
    ),
    (
        1.0,
        6.708276644224936,
        14.960060397913,
        13.866582084035535,
        5.467036180142323,
        0.8389608629875561,
        0.03900954894570312,
        0.0002566084898741937,
    ),
)
_Q1 = (
    (
        0.075,
        0.5597339044452186,
        1.4050889070373966,
        1.4891320169936733,
        0.686088346190861,
        0.1270639259055554,
        0.007511415142850883,
        6.975563235492575e-05,
    ),
    (
        1.0,
        7.474056225936219,
        18.815081924300376,
        20.052372027391076,
        9.34724111797211,
        1.7778485729740487,
        0.11286699073918044,
        0.0013882578791689108,
    ),
)


@compiled
def bessel_j0(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the Bessel function of the first kind and order 0."""
    return in_double(xp, _j0, out, self)


@compiled
def bessel_j1(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the Bessel function of the first kind and order 1."""
    return in_double(xp, _j1, out, self)


@compiled
def bessel_y0(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the Bessel function of the second kind and order 0: -inf at 0, NaN below."""
    return in_double(xp, _y0, out, self)


@compiled
def bessel_y1(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the Bessel function of the second kind and order 1: -inf at 0, NaN below."""
    return in_double(xp, _y1, out, self)


@compiled
def spherical_bessel_j0(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return sin(self) / self: 1 at 0, and 0 at the infinities."""
    return in_double(xp, _spherical_j0, out, self)


def _j0(xp: ModuleType, x: Array) -> Array:
    size = xp.abs(x)
    result = size.copy()
    put_where(xp, result, size <= _BORDER, _j0_near, size)
    put_where(xp, result, size > _BORDER, lambda v: _waves(xp, v, 0)[0], size)
    return result


def _j1(xp: ModuleType, x: Array) -> Array:
    size = xp.abs(x)
    result = size.copy()
    put_where(xp, result, size <= _BORDER, _j1_near, size)
    put_where(xp, result, size > _BORDER, lambda v: _waves(xp, v, 1)[0], size)
    return result * xp.copysign(1.0, x)


def _y0(xp: ModuleType, x: Array) -> Array:
    def near(v: Array) -> Array:
        return polynomial(_Y0, v * v - _MIDDLE) + _TWO_OVER_PI * xp.log(v) * _j0_near(v)

    result = xp.where(x == 0, -xp.inf, xp.nan)
    put_where(xp, result, (x > 0) & (x <= _BORDER), near, x)
    put_where(xp, result, x > _BORDER, lambda v: _waves(xp, v, 0)[1], x)
    return result


def _y1(xp: ModuleType, x: Array) -> Array:
    def near(v: Array) -> Array:
        return polynomial(_Y1, v * v - _MIDDLE) * v + _TWO_OVER_PI * (xp.log(v) * _j1_near(v) - 1 / v)

    result = xp.where(x == 0, -xp.inf, xp.nan)
    put_where(xp, result, (x > 0) & (x <= _BORDER), near, x)
    put_where(xp, result, x > _BORDER, lambda v: _waves(xp, v, 1)[1], x)
    return result


def _j0_near(v: Array) -> Array:
    return polynomial(_J0, v * v - _MIDDLE) * _product(v, _J0_ZEROS)


def _j1_near(v: Array) -> Array:
    return polynomial(_J1, v * v - _MIDDLE) * _product(v, _J1_ZEROS) * v


def _product(v: Array, zeros: tuple[tuple[float, float], ...]) -> Array:
    """Return the product of v² less the square of each zero, with a small relative error beside them."""
    (first, first_rest), (second, second_rest) = zeros
    return (((v - first) - first_rest) * (v + first)) * (((v - second) - second_rest) * (v + second))


def _waves(xp: ModuleType, v: Array, order: int) -> tuple[Array, Array]:
    """Return J and Y beyond the border. Sines of `v` itself lose no digits, as those of a phase would."""
    inverse = _BORDER / v
    p, q = (_P0, _Q0) if order == 0 else (_P1, _Q1)
    square = inverse * inverse
    upright, slanted = ratio(p, square), inverse * ratio(q, square)
    sine, cosine = xp.sin(v), xp.cos(v)
    cosine, sine = cosine + sine, sine - cosine
    if order == 1:
        cosine, sine = sine, -cosine
    root = _SQRT_PI * xp.sqrt(v)
    return (upright * cosine - slanted * sine) / root, (upright * sine + slanted * cosine) / root


def _spherical_j0(xp: ModuleType, x: Array) -> Array:
    # A sine of an infinity is NaN, and said to be invalid.
    finite = xp.where(xp.isinf(x) | (x == 0), 1.0, x)
    return xp.where(x == 0, 1.0, xp.where(xp.isinf(x), 0.0, xp.sin(finite) / finite))
