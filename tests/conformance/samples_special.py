"""Samples of special functions: intervals on which their formulas differ, the borders between these, and poles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import samples_pointwise as pointwise
from sampling import (
    DTYPES,
    FLOAT32,
    FLOAT64,
    FLOATS,
    INT64,
    UINT8,
    Sample,
    arrays,
    bfloat16,
    make,
    pairs,
    sample,
    special,
)

Samples = Callable[[], Iterable[Sample]]

# Intervals, evenly filled.
_RANGES = ((-1, 1), (-4, 4), (0, 3), (3, 30), (-12, 0))


def unary() -> Iterator[Sample]:
    yield from pointwise.unary()
    for dtype in (FLOAT32, FLOAT64):
        for low, high in _RANGES:
            yield sample(np.linspace(low + 0.013, high - 0.017, 50).astype(dtype))
    yield sample(np.linspace(0.1, 0.9, 10000, dtype=FLOAT64).reshape(100, 100))  # more than a block
    yield sample(np.linspace(0.1, 0.9, 10000, dtype=FLOAT32).reshape(100, 100).T)


def probabilities() -> Iterator[Sample]:
    """Within (0, 1), for inverse functions."""
    yield from pointwise.unary()
    for dtype in (FLOAT32, FLOAT64):
        yield sample(np.linspace(-0.98, 0.98, 99).astype(dtype))
        yield sample(np.linspace(0.01, 0.99, 99).astype(dtype))


def with_eps() -> Iterator[Sample]:
    for each in probabilities():
        yield from (each, sample(*each.args, 0.1), sample(*each.args, -1.0))


def derivatives() -> Iterator[Sample]:
    """`polygamma`: the order comes first."""
    for dtype in DTYPES:
        for n in (0, 1, 2, 3):
            yield sample(n, make((2, 3), dtype, low=1))
    for array in arrays((FLOAT32, bfloat16), low=1):
        yield sample(2, array)
    for n in (0, 2, 3, 10):
        yield sample(n, special(FLOAT64)[:12])
        yield sample(n, np.linspace(0.1, 20, 50))
    yield sample(-1, make((3,), FLOAT32))


def overwritten_derivatives() -> Iterator[Sample]:
    """`polygamma_`: the order comes second."""
    for dtype in DTYPES:
        for n in (0, 1, 2):
            yield sample(make((2, 3), dtype, low=1), n)


def zetas(first: bool = False, second: bool = False) -> Iterator[Sample]:
    """`zeta`, with a number for the operand that is True here."""
    for dtype in DTYPES:
        s, q = make((2, 3), dtype, low=2, high=8), make((3,), dtype, seed=1, low=1, high=9)
        yield sample(2.5 if first else s, 1.5 if second else q)
    for dtype in (FLOAT32, INT64):
        for s, q in pairs(dtype, low=2, high=9):
            yield sample(3 if first else s, 3 if second else q)
    values = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.nan])
    points = np.array([0.0, -1.0, -2.5, 0.5, 1.0, 12.0, np.nan])
    yield sample(2.0 if first else values[:, None], -1.5 if second else points)
    yield sample(1.0 if first else values[:, None], 0.5 if second else points)


def products(first: bool = False, second: bool = False) -> Iterator[Sample]:
    """`xlogy` and `xlog1py`, with a number for the operand that is True here."""
    if first or second:
        yield from pointwise.with_number(0, 1, 2.5, float("nan"), float("inf"), True, first=first)
    else:
        yield from pointwise.binary()


def several() -> Iterator[Sample]:
    """`mvlgamma`: of so many variables."""
    for dtype in (*FLOATS, INT64, UINT8, *DTYPES):
        for p in (1, 2, 4):
            yield sample(make((2, 3), dtype, low=3, high=9), p)
    for array in arrays((FLOAT32, INT64), low=3, high=9):
        yield sample(array, 3)
    yield sample(make((3,), FLOAT32), 0)


def waves() -> Iterator[Sample]:
    """For Bessel functions and Airy's: both sides of every border between their formulas, in float32 and float64."""
    yield from unary()
    borders = np.array([0.5, 2.0, 2.09, 3.2, 5.0, 8.3, 15.0])
    near = np.concatenate([borders - 0.01, borders, borders + 0.01])
    for dtype in (FLOAT32, FLOAT64):
        yield sample(np.concatenate([near, -near]).astype(dtype))


def polynomials(number: str = "") -> Iterator[Sample]:
    """Orthogonal polynomials at x, of degree n, with a number for the operand that is named here."""

    def one(x: Any, n: Any) -> Sample:
        return sample(2.5 if number == "x" else x, 5 if number == "n" else n)

    for dtype in DTYPES:
        yield one(make((2, 3), dtype, low=-2, high=3), make((3,), dtype, seed=1, low=0, high=7))
    for dtype in (FLOAT32, INT64):
        for x, n in pairs(dtype, low=-1, high=5):
            yield one(x, n)
    points = np.array([0.0, -0.0, 1.0, -1.0, 0.3, -0.9, 0.999, 1.1, -1.7, 12.0, np.nan])
    degrees = np.array([0.0, -0.0, 1.0, 2.0, 3.0, 6.0, 7.0, 9.0, 25.0, -1.0, -0.5, 2.7, np.nan, np.inf, -np.inf])
    # Of float32, PyTorch's waves have few digits; NaN of degree 2 and more it reads from memory that it never wrote.
    for dtype, here in ((FLOAT32, np.delete(degrees, [6, 7, 8])), (FLOAT64, degrees)):
        yield one(points[:-1].astype(dtype)[:, None], here.astype(dtype))
        if number != "n":
            yield one(points[-1:].astype(dtype)[:, None], here[:3].astype(dtype))
    yield sample(0.25 if number == "x" else make((3,), FLOAT32), True if number == "n" else make((3,), INT64, low=0))


def incomplete() -> Iterator[Sample]:
    """`igamma` and `igammac`: each formula, the borders between them, and ends."""
    for dtype in DTYPES:
        yield sample(make((2, 3), dtype, low=1), make((3,), dtype, seed=1, low=1))
        yield sample(make((2, 3), dtype, low=1), make((3,), FLOAT32, seed=1, low=1))
    for dtype in (FLOAT32, bfloat16):
        for a, x in pairs(dtype, low=1):
            yield sample(a, x)
    ends = special(FLOAT64)
    for dtype in (FLOAT32, FLOAT64):
        yield sample(ends.astype(dtype)[:, None], ends.astype(dtype))
        a = np.array([1e-3, 0.3, 0.9, 1.0, 1.2, 4.0, 9.0, 11.0, 19.0])
        x = np.array([1e-8, 0.1, 0.4, 0.5, 0.7, 1.05, 1.1, 1.3, 8.0, 10.5, 40.0, 200.0])
        yield sample(a.astype(dtype)[:, None], x.astype(dtype))
    yield sample(np.array([[30.0], [60.0], [300.0], [1e4]], FLOAT32), np.array([20.0, 58.0, 310.0, 9.9e3], FLOAT32))
    yield sample(np.full((9000,), 3.0), np.linspace(0.1, 9, 9000))  # more than a block


def decimals() -> Iterator[Sample]:
    yield from pointwise.rounded()


def along() -> Iterator[Sample]:
    for array in arrays((FLOAT32, FLOAT64)):
        if array.ndim:
            yield sample(array, 0)
            yield sample(array, -1)


POLYNOMIALS = (
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
)  # fmt: skip
SAMPLES: dict[str, Samples] = {
    **dict.fromkeys(
        (
            "erf", "erfc", "special_erfcx", "special_ndtr", "special_log_ndtr", "lgamma", "digamma", "i0", "sinc",
            "special_i0e", "special_i1", "special_i1e", "special_modified_bessel_i0", "special_modified_bessel_i1",
            "special_entr", "special_erf", "special_erfc", "special_gammaln", "special_digamma", "special_psi",
            "special_i0", "special_sinc", "special_expit", "special_exp2", "special_expm1", "special_log1p",
        ),
        unary,
    ),
    **dict.fromkeys(("erfinv", "special_erfinv", "special_ndtri"), probabilities),
    **dict.fromkeys(("logit", "special_logit"), with_eps),
    **dict.fromkeys(("polygamma", "special_polygamma"), derivatives),
    "polygamma_": overwritten_derivatives,
    "special_zeta": zetas,
    "special_zeta.self_scalar": partial(zetas, True),
    "special_zeta.other_scalar": partial(zetas, False, True),
    **dict.fromkeys(("xlogy.Tensor", "special_xlogy", "special_xlog1py"), products),
    **dict.fromkeys(
        ("xlogy.Scalar_Self", "special_xlogy.self_scalar", "special_xlog1py.self_scalar"), partial(products, True)
    ),
    **dict.fromkeys(
        ("xlogy.Scalar_Other", "special_xlogy.other_scalar", "special_xlog1py.other_scalar"),
        partial(products, False, True),
    ),
    **dict.fromkeys(("mvlgamma", "special_multigammaln"), several),
    **dict.fromkeys(
        (
            "special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1", "special_airy_ai",
            "special_modified_bessel_k0", "special_modified_bessel_k1", "special_scaled_modified_bessel_k0",
            "special_scaled_modified_bessel_k1", "special_spherical_bessel_j0",
        ),
        waves,
    ),
    **{
        f"special_{name}{overload}": partial(polynomials, number)
        for name in POLYNOMIALS
        for overload, number in (("", ""), (".x_scalar", "x"), (".n_scalar", "n"))
    },
    **dict.fromkeys(("igamma", "igammac", "special_gammainc", "special_gammaincc"), incomplete),
    "special_round": decimals,
    **dict.fromkeys(("special_softmax", "special_log_softmax"), along),
}  # fmt: skip
