"""Modified Bessel functions of the first and the second kind.

Coefficients: polynomials and rational functions through the Chebyshev nodes of their interval, computed with 50 digits
or more.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.core import compiled
from opwright_kernels.special_functions.approximation import blockwise, in_double, polynomial, put_where, ratio

Array = Any

_BORDER = 15.0
# I0(x), and I1(x) / (x / 2), of x² / 4, up to the border.
_I0 = (
    1.0,
    1.0,
    0.2500000000000001,
    0.02777777777777761,
    0.0017361111111112227,
    6.944444444439927e-05,
    1.9290123456912546e-06,
    3.93675988890559e-08,
    6.151187330118602e-10,
    7.594058392203878e-12,
    7.59405872801832e-14,
    6.276079375344926e-16,
    4.358400115795296e-18,
    2.578885857183057e-20,
    1.315924452817123e-22,
    5.8440245524011875e-25,
    2.2926915738868014e-27,
    7.762412461512695e-30,
    2.627133097635134e-32,
    4.87883731043762e-35,
    3.0565860105813904e-37,
    -2.8544354724862367e-40,
    2.6468150317555918e-42,
)
_I1 = (
    1.0,
    0.5000000000000001,
    0.08333333333333315,
    0.006944444444444656,
    0.00034722222222209484,
    1.1574074074121094e-05,
    2.755731922282578e-07,
    4.920949863451137e-09,
    6.834652559301012e-11,
    7.594058680982241e-13,
    6.903687582638018e-15,
    5.230078935919133e-17,
    3.352555804247891e-19,
    1.842282847325697e-21,
    8.766276702826889e-24,
    3.6679202533337315e-26,
    1.3200738323794584e-28,
    4.724868022670823e-31,
    9.292079344858095e-34,
    6.106558640368268e-36,
    -5.992945170986135e-39,
    5.826433193423373e-41,
)
# sqrt(x) exp(-x) I(x) of 15 / x, from the border on.
_I0_TAIL = (
    0.3989422804014327,
    0.003324519003345584,
    0.0001246694626051478,
    8.657602093315968e-06,
    8.837898127811611e-07,
    1.1936900210330077e-07,
    1.975770068680802e-08,
    5.064475744064592e-09,
    -1.5521906304325339e-09,
    4.4502944955757944e-09,
    -4.741077920045796e-09,
    3.6442922608482483e-09,
    -1.606517391343792e-09,
    3.347753168928243e-10,
)
_I1_TAIL = (
    0.3989422804014327,
    -0.00997355701003616,
    -0.00020778243768674007,
    -1.2120642773620531e-05,
    -1.1363025077689125e-06,
    -1.4588828979728655e-07,
    -2.337611108252859e-08,
    -5.777895338368823e-09,
    1.6434720752297723e-09,
    -4.831968780406867e-09,
    5.1212885980026775e-09,
    -3.92656921419172e-09,
    1.7254919923090538e-09,
    -3.586082926082399e-10,
)
# K0(x) plus log(x / 2) I0(x), and K1(x) less log(x / 2) I1(x), this times x; of x², up to 2.
_K0 = (
    -0.5772156649015329,
    0.1056960837746168,
    0.014418505235913403,
    0.0005451899602573268,
    1.021401413519616e-05,
    1.1570351012535374e-07,
    8.819879035027937e-10,
    4.8433399275830486e-12,
    2.0062068689459318e-14,
    6.872289021185454e-17,
)
_K1 = (
    1.0,
    0.03860783245076608,
    -0.042049020943651316,
    -0.0028371119837725905,
    -7.493042904491131e-05,
    -1.0892182678340606e-06,
    -1.0112901478345438e-08,
    -6.54047500248146e-11,
    -3.1149818492859936e-13,
    -1.2137166536221055e-15,
)
# sqrt(x) exp(x) K(x) of 2 / x, from 2 on.
_K0_TAIL = (
    (
        1.2533141373155003,
        10.357771089031292,
        31.909165380519152,
        46.737323734426674,
        34.44173604018162,
        12.448022275477989,
        1.9861451139729793,
        0.10877871393435402,
        0.0009511093294167135,
    ),
    (
        1.0,
        8.326805636268345,
        25.962677632488784,
        38.776442016065474,
        29.51690654374211,
        11.281700033136948,
        1.9941434364743253,
        0.1348184818096652,
        0.0021514461559425566,
    ),
)
_K1_TAIL = (
    (
        1.2533141373155003,
        10.23457395209193,
        31.409596274972394,
        46.561090544452874,
        35.76240988998447,
        14.211883556098567,
        2.7483172167054923,
        0.2205892436519487,
        0.004783147605128259,
    ),
    (
        1.0,
        7.9785085427693225,
        23.594558452081714,
        32.947323554480626,
        22.954646994749208,
        7.761509131066469,
        1.1417612012738427,
        0.05613097373496433,
        0.0003930056306808146,
    ),
)


@compiled
def i0(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of order 0."""
    return blockwise(xp, lambda xp, x: _bessel(xp, x, _I0, _I0_TAIL, scaled=False), out, self)


@compiled
def i0e(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of order 0 times exp(-|self|)."""
    return blockwise(xp, lambda xp, x: _bessel(xp, x, _I0, _I0_TAIL, scaled=True), out, self)


@compiled
def i1(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of order 1."""
    return blockwise(xp, lambda xp, x: _odd(xp, x, scaled=False), out, self)


@compiled
def i1e(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of order 1 times exp(-|self|)."""
    return blockwise(xp, lambda xp, x: _odd(xp, x, scaled=True), out, self)


def _odd(xp: ModuleType, x: Array, *, scaled: bool) -> Array:
    result = _bessel(xp, x, _I1, _I1_TAIL, scaled=scaled)
    # Up to the border the polynomial lacks the factor x / 2.
    return result * xp.where(xp.abs(x) <= _BORDER, 0.5 * x, xp.copysign(1.0, x))


def _bessel(xp: ModuleType, x: Array, near: tuple[float, ...], tail: tuple[float, ...], *, scaled: bool) -> Array:
    size = xp.abs(x)

    def from_near(v: Array) -> Array:
        value = polynomial(near, 0.25 * v * v)
        return value * xp.exp(-v) if scaled else value

    def from_tail(v: Array) -> Array:
        value = polynomial(tail, _BORDER / v) / xp.sqrt(v)
        return value if scaled else value * xp.exp(v)

    result = size.copy()
    put_where(xp, result, size <= _BORDER, from_near, size)
    put_where(xp, result, size > _BORDER, from_tail, size)
    return result


@compiled
def modified_bessel_k0(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of the second kind and order 0: inf at 0, NaN below."""
    return in_double(xp, lambda xp, x: _second_kind(xp, x, 0, scaled=False), out, self)


@compiled
def modified_bessel_k1(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of the second kind and order 1: inf at 0, NaN below."""
    return in_double(xp, lambda xp, x: _second_kind(xp, x, 1, scaled=False), out, self)


@compiled
def scaled_modified_bessel_k0(xp: ModuleType, x: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of the second kind and order 0 times exp(x)."""
    return in_double(xp, lambda xp, x: _second_kind(xp, x, 0, scaled=True), out, x)


@compiled
def scaled_modified_bessel_k1(xp: ModuleType, x: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of the second kind and order 1 times exp(x)."""
    return in_double(xp, lambda xp, x: _second_kind(xp, x, 1, scaled=True), out, x)


def _second_kind(xp: ModuleType, x: Array, order: int, *, scaled: bool) -> Array:
    def from_near(v: Array) -> Array:
        square = v * v
        if order == 0:
            value = polynomial(_K0, square) - xp.log(0.5 * v) * polynomial(_I0, 0.25 * square)
        else:
            value = polynomial(_K1, square) / v + xp.log(0.5 * v) * (0.5 * v * polynomial(_I1, 0.25 * square))
        return value * xp.exp(v) if scaled else value

    def from_tail(v: Array) -> Array:
        value = ratio(_K1_TAIL if order else _K0_TAIL, 2 / v) / xp.sqrt(v)
        return value if scaled else value * xp.exp(-v)

    result = xp.where(x == 0, xp.inf, xp.nan)
    put_where(xp, result, (x > 0) & (x <= 2), from_near, x)
    put_where(xp, result, x > 2, from_tail, x)
    return result
