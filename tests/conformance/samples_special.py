"""Samples of special functions: intervals on which their formulas differ, the borders between these, and poles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

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


def decimals() -> Iterator[Sample]:
    yield from pointwise.rounded()


def along() -> Iterator[Sample]:
    for array in arrays((FLOAT32, FLOAT64)):
        if array.ndim:
            yield sample(array, 0)
            yield sample(array, -1)


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
    "special_round": decimals,
    **dict.fromkeys(("special_softmax", "special_log_softmax"), along),
}  # fmt: skip
