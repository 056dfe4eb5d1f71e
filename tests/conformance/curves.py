"""Functions of one number, and points at which their derivatives lose digits: near poles, zeros and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import opwright

functional, special = opwright.nn.functional, opwright.special


class Curve(NamedTuple):
    """A function on Tensors, and where it is tried."""

    function: Callable[[Any], Any]
    points: Sequence[float]


def _both(*sizes: float) -> tuple[float, ...]:
    return tuple(sign * size for size in sizes for sign in (1, -1))


NEAR = (1e-100, 1e-20, 1e-8, 1e-3, 0.1)
SHORT_LINE = _both(*NEAR, 0.9, 2.0, 5.0)
LINE = (*SHORT_LINE, *_both(11.0, 19.0, 30.0, 40.0, 100.0))
UNIT = _both(*NEAR, 0.45, 0.55, 0.9, 1 - 1e-8, 1 - 2**-52)
SHARE = (1e-20, 1e-8, 0.1, 0.3, 0.6, 0.9, 1 - 1e-8, 1 - 2**-52)
POSITIVE = (1e-100, 1e-20, 1e-8, 0.1, 0.5, 1 - 1e-9, 1 + 1e-9, 2.0, 11.0, 1e3, 1e8)
MODERATE = POSITIVE[2:9]


def _zero(function: Callable[..., Any], **options: Any) -> Callable[[Any], Any]:
    """A function of x and 0."""
    return lambda x: function(x, opwright.zeros_like(x), **options)


def _first(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """The first result of a function of x and 0 along a dimension."""
    return lambda x: function(opwright.stack([x, opwright.zeros_like(x)]), 0)[0]


CURVES: dict[str, Curve] = {
    **{
        name: Curve(getattr(opwright, name), points)
        for names, points in (
            ("asin acos atanh", UNIT), ("atan asinh tanh", (*LINE, *_both(1e8))), ("sin cos tan exp expm1", LINE),
            ("acosh", (1 + 2**-52, 1 + 1e-8, 1.001, 1.5, 10.0, 1e8)), ("sinh cosh exp2 sigmoid", LINE),
            ("erf erfc", SHORT_LINE), ("erfinv", UNIT[2:]), ("logit", SHARE),
            ("digamma", (*MODERATE, 1e8, -0.5, -10.7)),
            ("log log2 log10 sqrt rsqrt reciprocal", POSITIVE), ("lgamma", (*MODERATE, -0.5, -10.7)),
            ("log1p", (*LINE[::2], -0.5, -1 + 1e-8, -1 + 2**-52)), ("sinc", (1e-300, *SHORT_LINE)),
        )
        for name in names.split()
    },
    **{
        name: Curve(getattr(special, name), points)
        for names, points in (
            ("i0 i1 i0e i1e modified_bessel_i0 modified_bessel_i1", LINE), ("bessel_j0 bessel_j1", (*SHORT_LINE, 19.0)),
            ("bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1", MODERATE), ("entr", POSITIVE),
            ("erfcx", (*LINE[:20], 30.0, 1e3)), ("ndtr", SHORT_LINE), ("log_ndtr", LINE[:24]), ("ndtri", SHARE),
        )
        for name in names.split()
    },
    **{
        name: Curve(getattr(functional, name), points)
        for names, points in (
            ("gelu", LINE[:22]), ("silu mish logsigmoid tanhshrink", LINE), ("elu", LINE[1::2]),
            ("softsign", (*LINE, *_both(1e8))),
        )
        for name in names.split()
    },
    "polygamma": Curve(lambda x: opwright.polygamma(1, x), MODERATE),
    "gelu by tanh": Curve(lambda x: functional.gelu(x, approximate="tanh"), LINE[:-8]),
    "softplus": Curve(lambda x: functional.softplus(x, 1, 1000), LINE),
    "glu": Curve(lambda x: functional.glu(opwright.stack([opwright.ones_like(x), x]), 0)[0], LINE),
    "pow": Curve(lambda x: x**2.5, POSITIVE),
    "hypot": Curve(lambda x: opwright.hypot(x, opwright.ones_like(x)), (*LINE, *_both(1e8))),
    "atan2": Curve(lambda x: opwright.atan2(x, opwright.ones_like(x)), (*LINE, *_both(1e8))),
    "logaddexp": Curve(_zero(opwright.logaddexp), LINE),
    "logaddexp2": Curve(_zero(opwright.logaddexp2), LINE),
    "logsumexp": Curve(lambda x: opwright.logsumexp(opwright.stack([x, opwright.zeros_like(x)]), 0), LINE),
    "softmax": Curve(_first(opwright.softmax), LINE),
    "log_softmax": Curve(_first(opwright.log_softmax), LINE),
    "binary_cross_entropy": Curve(_zero(functional.binary_cross_entropy, reduction="none"), SHARE[2:6]),
    "binary_cross_entropy_with_logits": Curve(
        _zero(functional.binary_cross_entropy_with_logits, reduction="none"), LINE
    ),
    "soft_margin_loss": Curve(
        lambda x: functional.soft_margin_loss(x, opwright.ones_like(x), reduction="none"), LINE
    ),
}  # fmt: skip
