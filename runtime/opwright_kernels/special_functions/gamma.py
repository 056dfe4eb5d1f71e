"""The logarithm of the gamma function, its derivatives, and the zeta function.

Coefficients: rational functions through the Chebyshev nodes of their interval, computed with 60 digits. What is
divided out has the zeros of the function, so that the relative error stays small beside them.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from opwright_core.core import compiled
from opwright_kernels.special_functions.approximation import (
    Coefficients,
    blockwise,
    in_double,
    one_by_one,
    polynomial,
    put_where,
    ratio,
)

Array = Any
Ratio = tuple[Coefficients, Coefficients]

# lgamma(x) / ((x - 1) (x - 2)) on [0.5, 3], of x - 0.5.
_LGAMMA_NEAR = (
    (
        0.7631532572329334,
        5.197402866996572,
        14.304623655289717,
        20.534439305967144,
        16.597016191248077,
        7.635220030557953,
        1.936489597882256,
        0.2505890390344944,
        0.014212583612458805,
        0.0002519794925845993,
        2.848225355329543e-07,
    ),
    (
        1.0,
        7.574285803827271,
        23.589146133255017,
        39.17519506656884,
        37.71396392325835,
        21.503027543391276,
        7.15366592599484,
        1.3237725618692127,
        0.1243300373787101,
        0.004985761639825963,
        5.730802493798955e-05,
    ),
)
# lgamma(x) on [3, 8], of x - 3.
_LGAMMA_MIDDLE = (
    (
        0.6931471805599453,
        1.6320110548537723,
        1.423619925531502,
        0.6068836793693172,
        0.1379627215440057,
        0.01685269163832814,
        0.0010458701204505798,
        2.8508459020662262e-05,
        2.365125538789178e-07,
    ),
    (
        1.0,
        1.0231978714569236,
        0.40678507037003614,
        0.0795596899625723,
        0.00800020978813803,
        0.00039402655260299425,
        8.126501478174251e-06,
        4.5488765527882823e-08,
        -2.3917808078553147e-11,
    ),
)
# The same for results of float32, computed in float64.
_LGAMMA_NEAR_SHORT = (
    (
        0.7631532515020231,
        2.370009863588301,
        2.2447524910394705,
        0.710402495070657,
        0.058380760783318504,
        0.00030114762928240216,
    ),
    (
        1.0,
        3.8694027291480344,
        4.956484152856994,
        2.450778067218638,
        0.4282137225059452,
        0.0184325736901046,
    ),
)
_LGAMMA_MIDDLE_SHORT = (
    (0.6931471716427443, 1.2264156457501023, 0.63591553675554, 0.10719583013020893, 0.0045267282808961005),
    (1.0, 0.43804696147746464, 0.04937962594551087, 0.0011696017813616752, -3.0181191307842933e-06),
)
# Stirling's series, of 1 / x².
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_HALF_LOG_2PI = 0.9189385332046727

# digamma(x) / (x - its zero) on [1, 8], of x - 1; the zero as a sum of two numbers.
_DIGAMMA = (
    (
        1.2503801375034052,
        2.1824133644023003,
        1.452583037134508,
        0.4781593947626507,
        0.0838578714447671,
        0.007828020443433722,
        0.00036603290836177964,
        7.420096618195445e-06,
        4.628095355160578e-08,
        1.4733536951457843e-11,
    ),
    (
        1.0,
        2.4289467130117504,
        2.2202203237605125,
        1.0097747891094164,
        0.2507062656892972,
        0.03472039447836512,
        0.0026124765363473223,
        9.875135845843727e-05,
        1.5899202469738136e-06,
        7.349204873037012e-09,
    ),
)
_DIGAMMA_ZERO = (1.4616321449683622, 9.549995429965697e-17)
_DIGAMMA_TAIL = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)

# (2k)! / B(2k), the divisors of the Euler-Maclaurin formula.
_ZETA = (
    12.0,
    -720.0,
    30240.0,
    -1209600.0,
    47900160.0,
    -1892437580.3183792,
    74724249600.0,
    -2950130727918.164,
    116467828143500.67,
    -4597978722407473.0,
    1.8152105401943546e17,
    -7.166165256175667e18,
)


@compiled
def lgamma(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, …"""
    # (Python's own is less exact near 1 and 2 than float64)
    if self.dtype.itemsize > 4:
        return blockwise(xp, lgamma_of_block, out, self)
    found = one_by_one(xp, math.lgamma, self, out)
    return in_double(xp, lambda xp, x: lgamma_of_block(xp, x, short=True), out, self) if found is None else found


def lgamma_of_block(xp: ModuleType, x: Array, *, short: bool = False) -> Array:
    """Return what `lgamma` does, of a 1-d array of float64; with the digits of float32, where `short`."""
    reflected = x < 0.5
    y = xp.where(reflected, 1 - x, x)
    result = _lgamma_from_half(xp, y, short)
    put_where(xp, result, reflected & xp.isfinite(x), lambda low, value: _reflected_lgamma(xp, low, value), x, result)
    result[xp.isinf(x) | (x <= 0) & (x == xp.rint(x))] = math.inf
    return result


def _lgamma_from_half(xp: ModuleType, y: Array, short: bool) -> Array:
    near: Ratio = _LGAMMA_NEAR_SHORT if short else _LGAMMA_NEAR
    middle: Ratio = _LGAMMA_MIDDLE_SHORT if short else _LGAMMA_MIDDLE
    terms = _STIRLING[:3] if short else _STIRLING
    result = xp.full_like(y, math.nan)
    # The sum makes 0.0 of the -0.0 at 1.
    put_where(xp, result, y < 3, lambda v: (v - 1) * (v - 2) * ratio(near, v - 0.5) + 0.0, y)
    put_where(xp, result, (y >= 3) & (y < 8), lambda v: ratio(middle, v - 3), y)
    put_where(xp, result, y >= 8, lambda v: _stirling(xp, v, terms), y)
    return result


def _stirling(xp: ModuleType, v: Array, terms: tuple[float, ...]) -> Array:
    return (v - 0.5) * (xp.log(v) - 1) + (_HALF_LOG_2PI - 0.5 + stirling_rest(v, terms))


def stirling_rest(v: Array, terms: tuple[float, ...] = _STIRLING) -> Array:
    """Return Stirling's series without its first terms, from 8 on: a sum of odd powers of 1 / v."""
    inverse = 1 / v
    return inverse * polynomial(terms, inverse * inverse)


def _reflected_lgamma(xp: ModuleType, x: Array, at_1_less_x: Array) -> Array:
    sine = xp.abs(xp.sin(math.pi * (x - xp.rint(x))))
    some = xp.where(sine == 0, sine.dtype.type(1), sine)
    found = math.log(math.pi) - xp.log(some) - at_1_less_x  # the quotient would overflow beside 0
    return xp.where(sine == 0, math.inf, found)


@compiled
def digamma(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the derivative of `lgamma`: infinite at the zeros, NaN at negative integers."""
    found = one_by_one(xp, _digamma_of_one, self, out) if self.dtype.itemsize == 4 else None
    if found is not None:
        return found
    # Beside zeros and poles float32 loses digits.
    return in_double(xp, _digamma, out, self) if self.dtype.itemsize <= 4 else blockwise(xp, _digamma, out, self)


def _digamma_of_one(x: float) -> float:
    """Return digamma in more digits than float32 has: of the first number of x, x + 1, … that is large. Raises
    ValueError for what is not above 0."""
    if not 1e-30 < x < math.inf:
        raise ValueError("not above zero")
    result = 0.0
    while x < 6:
        result -= 1 / x
        x += 1
    square = 1 / (x * x)
    tail = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return result + math.log(x) - 0.5 / x - tail


def _digamma(xp: ModuleType, x: Array) -> Array:
    y = xp.where(x < 0, 1 - x, x)
    result = xp.full_like(y, math.nan)
    result[y == 0] = -xp.copysign(y[y == 0] + math.inf, y[y == 0])
    put_where(xp, result, (y < 1) & (y != 0), lambda v: _digamma_near(v + 1) - 1 / v, y)
    put_where(xp, result, (y >= 1) & (y < 8), _digamma_near, y)
    put_where(xp, result, y >= 8, lambda v: _digamma_tail(xp, v), y)
    put_where(xp, result, x < 0, lambda low, value: _reflected_digamma(xp, low, value), x, result)
    return result


def _digamma_near(v: Array) -> Array:
    high, low = _DIGAMMA_ZERO
    return ((v - v.dtype.type(high)) - (low + (high - float(v.dtype.type(high))))) * ratio(_DIGAMMA, v - 1)


def _digamma_tail(xp: ModuleType, v: Array) -> Array:
    inverse = 1 / v
    square = inverse * inverse
    return xp.log(v) - 0.5 * inverse - square * polynomial(_DIGAMMA_TAIL, square)


def _reflected_digamma(xp: ModuleType, x: Array, at_1_less_x: Array) -> Array:
    distance = x - xp.rint(x)
    poles = (distance == 0) | xp.isinf(x)
    return xp.where(poles, math.nan, at_1_less_x - math.pi / xp.tan(math.pi * xp.where(poles, 0.5, distance)))


@compiled
def polygamma(xp: ModuleType, n: int, self: Array, out: Array | None = None) -> Array:
    """Return the `n`-th derivative of `digamma`."""
    if n == 0:
        return digamma(xp, self, out)
    if n == 1:
        return blockwise(xp, _trigamma, out, self)
    factor = math.gamma(n + 1) if n < 171 else math.inf
    sign = 1 if n % 2 else -1
    return blockwise(xp, lambda xp, x: sign * factor * _zeta(xp, xp.full_like(x, n + 1), x), out, self)


def _trigamma(xp: ModuleType, x: Array) -> Array:
    reflected = x < 0.5
    result = _zeta(xp, xp.full_like(x, 2), xp.where(reflected, 1 - x, x))
    put_where(
        xp,
        result,
        reflected,
        lambda low, value: (math.pi / xp.sin(math.pi * (low - xp.rint(low)))) ** 2 - value,
        x,
        result,
    )
    return result


@compiled
def zeta(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Return Hurwitz's zeta function: the sum of `(other + k) ** -self` over k = 0, 1, 2, …"""
    return blockwise(xp, _zeta, out, self, other)


def _zeta(xp: ModuleType, s: Array, q: Array) -> Array:
    is_pole = (q <= 0) & (q == xp.floor(q))
    undefined = (s < 1) | xp.isnan(s) | xp.isnan(q) | ((q <= 0) & (s != xp.floor(s)))
    infinite = (s == 1) | is_pole
    plain = ~(undefined | infinite | xp.isinf(q))
    result = xp.where(undefined & ~is_pole | (s < 1), math.nan, xp.where(infinite, math.inf, s.dtype.type(0)))
    result[s == 1] = math.inf
    put_where(xp, result, plain, lambda a, b: _euler_maclaurin(xp, a, b), s, q)
    return result


def _euler_maclaurin(xp: ModuleType, s: Array, q: Array) -> Array:
    total, a, term = xp.zeros_like(q), q.copy(), xp.power(q, -s)
    steps = 0
    while steps < 9 or (a <= 9).any():
        # Those that are past 9 wait for the others.
        going = (a <= 9) | (steps < 9)
        total += xp.where(going, term, 0)
        a += going
        term = xp.power(a, -s)
        steps += 1
    total += term * a / (s - 1) + 0.5 * term
    factor = s.copy()
    power = term / a
    for k, divisor in enumerate(_ZETA):
        added = factor * power / divisor
        total += xp.where(power == 0, 0, added)
        factor = factor * ((s + (2 * k + 1)) * (s + (2 * k + 2)))
        power = power / (a * a)
    return total
