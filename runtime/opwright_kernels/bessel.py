"""Modified Bessel functions of the first kind.

Coefficients: polynomials through the Chebyshev nodes of their interval, computed with 60 digits.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_kernels.approximation import blockwise, polynomial, put_where

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


def i0(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of order 0."""
    return blockwise(xp, lambda xp, x: _bessel(xp, x, _I0, _I0_TAIL, scaled=False), out, self)


def i0e(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of order 0 times exp(-|self|)."""
    return blockwise(xp, lambda xp, x: _bessel(xp, x, _I0, _I0_TAIL, scaled=True), out, self)


def i1(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of order 1."""
    return blockwise(xp, lambda xp, x: _odd(xp, x, scaled=False), out, self)


def i1e(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return the modified Bessel function of order 1 times exp(-|self|)."""
    return blockwise(xp, lambda xp, x: _odd(xp, x, scaled=True), out, self)


def _odd(xp: ModuleType, x: Array, *, scaled: bool) -> Array:
    result = _bessel(xp, x, _I1, _I1_TAIL, scaled=scaled)
    # Up to the border the polynomial lacks the factor x / 2.
    return xp.where(xp.abs(x) <= _BORDER, result * (0.5 * x), xp.copysign(result, x))


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
