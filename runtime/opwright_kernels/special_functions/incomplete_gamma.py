"""The incomplete gamma functions, as fractions of the whole one: P, the lower, and Q, the upper, which sum to 1.

All is computed in float64, by one of four ways: P by its power series where x is small beside a, Q by its continued
fraction where it is large, or by a power series where a and x are small, and either by Temme's expansion where they are
large and near each other.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.core import compiled
from opwright_kernels.special_functions.approximation import in_double, polynomial, put_where
from opwright_kernels.special_functions.gamma import lgamma_of_block, stirling_rest
from opwright_kernels.special_functions.special import erfc_of_block

Array = Any

_LARGE, _NEAR = 50.0, 0.3  # Temme's expansion is used from this a on, where |x - a| is less than this part of it
_STEPS = 2000  # of a series, at most
_DIGITS = 2.0**-53
_SQRT_2PI = 2.5066282746310002
# The coefficients of Temme's expansion: a polynomial of η for each power of 1 / a; exact rationals, rounded.
_TEMME = (
    (
        -0.3333333333333333,
        0.08333333333333333,
        -0.014814814814814815,
        0.0011574074074074073,
        0.0003527336860670194,
        -0.0001787551440329218,
        3.919263178522438e-05,
        -2.185448510679992e-06,
        -1.85406221071516e-06,
        8.296711340953087e-07,
        -1.7665952736826078e-07,
        6.707853543401498e-09,
        1.0261809784240309e-08,
        -4.382036018453353e-09,
        9.14769958223679e-10,
        -2.5514193994946248e-11,
    ),
    (
        -0.001851851851851852,
        -0.003472222222222222,
        0.0026455026455026454,
        -0.0009902263374485596,
        0.00020576131687242798,
        -4.018775720164609e-07,
        -1.8098550334489977e-05,
        7.64916091608111e-06,
        -1.6120900894563446e-06,
        4.647127802807434e-09,
        1.378633446915721e-07,
        -5.752545603517705e-08,
        1.1951628599778148e-08,
        -1.7543241719747647e-11,
        -1.0091543710600413e-09,
        4.162792991842583e-10,
    ),
    (
        0.004133597883597883,
        -0.0026813271604938273,
        0.0007716049382716049,
        2.0093878600823047e-06,
        -0.0001073665322636516,
        5.2923448829120125e-05,
        -1.2760635188618728e-05,
        3.423578734096138e-08,
        1.3721957309062934e-06,
        -6.298992138380055e-07,
        1.4280614206064242e-07,
        -2.0477098421990866e-10,
        -1.409252991086752e-08,
        6.228974084922022e-09,
        -1.3670488396617114e-09,
        9.428356159014678e-13,
    ),
    (
        0.0006494341563786008,
        0.00022947209362139917,
        -0.0004691894943952557,
        0.00026772063206283885,
        -7.561801671883977e-05,
        -2.396505113867297e-07,
        1.1082654115347302e-05,
        -5.6749528269915965e-06,
        1.4230900732435883e-06,
        -2.7861080291528143e-11,
        -1.6958404091930278e-07,
        8.099464905388083e-08,
        -1.9111168485973655e-08,
        2.3928620439808118e-12,
        2.0620131815488797e-09,
        -9.460496661855133e-10,
    ),
    (
        -0.0008618882909167117,
        0.0007840392217200666,
        -0.0002990724803031902,
        -1.4638452578843418e-06,
        6.641498215465122e-05,
        -3.968365047179435e-05,
        1.1375726970678419e-05,
        2.507497226237533e-10,
        -1.6954149536558305e-06,
        8.907507532205309e-07,
        -2.292934834000805e-07,
        2.956794137544049e-11,
        2.8865829742708783e-08,
        -1.4189739437803219e-08,
        3.4463580499464896e-09,
        -2.3024517174528067e-13,
    ),
    (
        -0.00033679855336635813,
        -6.972813758365857e-05,
        0.0002772753244959392,
        -0.00019932570516188847,
        6.797780477937208e-05,
        1.419062920643967e-07,
        -1.3594048189768693e-05,
        8.018470256334202e-06,
        -2.291481176508095e-06,
        -3.252473551298454e-10,
        3.4652846491085265e-07,
        -1.8447187191171344e-07,
        4.8240967037894184e-08,
        -1.7989466721743514e-14,
        -6.306194500013523e-09,
        3.162417628774568e-09,
    ),
    (
        0.0005313079364639922,
        -0.0005921664373536939,
        0.0002708782096718045,
        7.902353232660328e-07,
        -8.153969367561969e-05,
        5.61168275310625e-05,
        -1.8329116582843375e-05,
        -3.0796134506033047e-09,
        3.465155368803609e-06,
        -2.0291327396058603e-06,
        5.788792863149004e-07,
        2.338630673826657e-13,
        -8.828600746330484e-08,
        4.7435958880408125e-08,
        -1.2545415020710383e-08,
        8.649648858010293e-14,
    ),
    (
        0.00034436760689237765,
        5.171790908260592e-05,
        -0.00033493161081142234,
        0.0002812695154763237,
        -0.00010976582244684731,
        -1.2741009095484485e-07,
        2.7744451511563645e-05,
        -1.8263488805711332e-05,
        5.7876949497350525e-06,
        4.93875893393627e-10,
        -1.0595367014026043e-06,
        6.166714376110408e-07,
        -1.7562973359060463e-07,
        -1.297447328701544e-12,
        2.695423606288966e-08,
        -1.4578352908731272e-08,
    ),
)


@compiled
def igamma(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Return P(self, other), the part of the gamma function's integral up to `other`; NaN where one is negative."""
    return in_double(xp, lambda xp, a, x: _fractions(xp, a, x, upper=False), out, self, other)


@compiled
def igammac(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Return Q(self, other), the part of the integral of the gamma function from `other` on; NaN where one is
    negative."""
    return in_double(xp, lambda xp, a, x: _fractions(xp, a, x, upper=True), out, self, other)


def _fractions(xp: ModuleType, a: Array, x: Array, *, upper: bool) -> Array:
    result = _at_the_ends(xp, a, x, upper)
    inside = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
    near = inside & (a > _LARGE) & (xp.abs(x - a) < _NEAR * a)
    # Q of small a and x is small only where P, about x**a, is near 1.
    bound = xp.where(x < 0.5, -0.4 / xp.log(xp.where(inside & (x < 0.5), x, 0.5)), x / 1.1)
    small = inside & ~near & (x <= 1.1) & (a < bound)
    fraction = inside & ~near & ~small & (x > 1.1) & (x >= a)
    series = inside & ~near & ~small & ~fraction
    put_where(xp, result, near, lambda a, x: _temme(xp, a, x, upper), a, x)
    for mask, function, gives_upper in (
        (small, _upper_series, True),
        (fraction, _continued_fraction, True),
        (series, _lower_series, False),
    ):
        put_where(
            xp, result, mask, lambda a, x, f=function, flip=gives_upper != upper: _or_rest(f(xp, a, x), flip), a, x
        )
    return result


def _or_rest(value: Array, flip: bool) -> Array:
    return 1 - value if flip else value


def _at_the_ends(xp: ModuleType, a: Array, x: Array, upper: bool) -> Array:
    """Return the values where an argument is 0 or infinite, whatever the other one is, and NaN elsewhere."""
    nothing, whole = (1.0, 0.0) if upper else (0.0, 1.0)
    result = xp.where(xp.isinf(x), whole, xp.nan)
    result = xp.where(xp.isinf(a), xp.where(xp.isinf(x), xp.nan, nothing), result)
    result[x == 0] = nothing
    result = xp.where(a == 0, xp.where(x > 0, whole, xp.nan), result)
    result[(a < 0) | (x < 0)] = xp.nan
    return result


def _term(xp: ModuleType, a: Array, x: Array) -> Array:
    """Return x**a exp(-x) / gamma(a + 1)."""
    result = xp.empty_like(x)

    def of_small(a: Array, x: Array) -> Array:
        return xp.power(x, a) * xp.exp(-x) / xp.exp(lgamma_of_block(xp, a + 1))

    def of_large(a: Array, x: Array) -> Array:
        exponent = -a * _loss(xp, (x - a) / a) - stirling_rest(a)
        return xp.exp(exponent) / (_SQRT_2PI * xp.sqrt(a))

    put_where(xp, result, a < 10, of_small, a, xp.minimum(x, 1e3))  # from where on it is 0
    put_where(xp, result, a >= 10, of_large, a, x)
    return result


def _loss(xp: ModuleType, u: Array) -> Array:
    """Return u - log(1 + u), exactly about 0: by the series of the logarithm in u / (2 + u) there."""
    result = u - xp.log1p(xp.maximum(u, -1))

    def about_zero(u: Array) -> Array:
        s = u / (2 + u)
        square = s * s
        return s * (u - 2 * square * polynomial(tuple(1 / k for k in range(3, 27, 2)), square))

    put_where(xp, result, xp.abs(u) < 0.35, about_zero, u)
    return result


def _lower_series(xp: ModuleType, a: Array, x: Array) -> Array:
    """Return P by its power series."""
    total, term, divisor = xp.ones_like(x), xp.ones_like(x), a.copy()
    for _ in range(_STEPS):
        divisor += 1
        term *= x / divisor
        total += term
        if not (term > total * _DIGITS).any():
            break
    return total * _term(xp, a, x)


def _upper_series(xp: ModuleType, a: Array, x: Array) -> Array:
    """Return Q by the series of what P lacks: of gamma(a, x) without its first term."""
    total, term = xp.zeros_like(x), xp.ones_like(x)
    for n in range(1, _STEPS):
        term *= -x / n
        part = term / (a + n)
        total += part
        if not (xp.abs(part) > xp.abs(total) * _DIGITS).any():
            break
    exponent = a * xp.log(x)
    rest = lgamma_of_block(xp, a + 1)
    return -xp.expm1(exponent - rest) - a * xp.exp(exponent - rest) * total


def _continued_fraction(xp: ModuleType, a: Array, x: Array) -> Array:
    """Return Q by its continued fraction, by the method of Lentz."""
    b = x + 1 - a
    c = xp.full_like(x, 1e300)
    d = 1 / b
    value = d.copy()
    for n in range(1, _STEPS):
        numerator = n * (a - n)
        b += 2
        d = 1 / _not_zero(xp, numerator * d + b)
        c = _not_zero(xp, b + numerator / c)
        factor = c * d
        going = xp.abs(factor - 1) > 4 * _DIGITS
        value *= xp.where(going, factor, 1)  # what has come to its end takes no part in the rounding of others
        if not going.any():
            break
    return value * a * _term(xp, a, x)


def _not_zero(xp: ModuleType, v: Array) -> Array:
    return xp.where(v == 0, 1e-300, v)


def _temme(xp: ModuleType, a: Array, x: Array, upper: bool) -> Array:
    """Return P or Q by Temme's uniform expansion: the normal distribution's, and a correction."""
    u = (x - a) / a
    loss = _loss(xp, u)
    eta = xp.copysign(xp.sqrt(2 * loss), u)
    inverse = 1 / a
    correction = xp.zeros_like(x)
    for row in reversed(_TEMME):
        correction = correction * inverse + polynomial(row, eta)
    correction *= xp.exp(-a * loss) / (_SQRT_2PI * xp.sqrt(a))
    sign = 1.0 if upper else -1.0
    return 0.5 * erfc_of_block(xp, sign * eta * xp.sqrt(0.5 * a)) + sign * correction
