"""First and second derivatives of `curves.CURVES` by mpmath, to all digits of float64: `exact_curves.json`.

`python tests/conformance/exact_curves.py` writes the file anew, which takes minutes; mpmath comes with PyTorch.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp
from curves import CURVES

FILE = Path(__file__).with_suffix(".json")


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


def _logsigmoid(x: Any) -> Any:
    return -_softplus(-x)


def _normal(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _gelu_by_tanh(x: Any) -> Any:
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3)))


# Of the others mpmath has the function by the same name.
EXACT: dict[str, Callable[[Any], Any]] = {
    **{f"{name}{order}": lambda x, of=of, order=order: of(order, x) for order in (0, 1) for name, of in (
        ("i", mp.besseli), ("modified_bessel_i", mp.besseli), ("modified_bessel_k", mp.besselk),
        ("bessel_j", mp.besselj), ("bessel_y", mp.bessely),
    )},
    "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
    "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
    "exp2": lambda x: mp.mpf(2) ** x,
    "log2": lambda x: mp.log(x, 2),
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "pow": lambda x: x ** mp.mpf(2.5),
    "hypot": lambda x: mp.sqrt(1 + x * x),
    "atan2": mp.atan,
    "lgamma": lambda x: mp.log(abs(mp.gamma(x))),
    "polygamma": lambda x: mp.polygamma(1, x),
    "sinc": lambda x: mp.sinc(mp.pi * x),
    "entr": lambda x: -x * mp.log(x),
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "ndtr": _normal,
    "log_ndtr": lambda x: mp.log(_normal(x)),
    "ndtri": lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1),
    "logit": lambda x: mp.log(x / (1 - x)),
    "gelu": lambda x: x * _normal(x),
    "gelu by tanh": _gelu_by_tanh,
    "silu": lambda x: x * _sigmoid(x),
    "mish": lambda x: x * mp.tanh(_softplus(x)),
    "elu": mp.expm1,
    "softsign": lambda x: x / (1 + abs(x)),
    "tanhshrink": lambda x: x - mp.tanh(x),
    "logaddexp2": lambda x: mp.log(1 + mp.mpf(2) ** x, 2),
    "binary_cross_entropy": lambda p: -mp.log1p(-p),
    "soft_margin_loss": lambda x: _softplus(-x),
    **dict.fromkeys(("sigmoid", "softmax", "glu"), _sigmoid),
    **dict.fromkeys(("logsigmoid", "log_softmax"), _logsigmoid),
    **dict.fromkeys(("softplus", "logaddexp", "logsumexp", "binary_cross_entropy_with_logits"), _softplus),
}  # fmt: skip


def derivatives(name: str, point: float) -> tuple[float, float]:
    """Return both derivatives, by differences over a 10^-25th of the point; the digits that these lose are added."""
    function = EXACT.get(name) or getattr(mp, name)
    x, step = mp.mpf(point), mp.mpf(10) ** -25 * abs(point)
    with mp.workdps(110 + int(3 * abs(mp.log10(abs(x)))) + int(min(point * point / 2, 220))):
        far_below, below, here, above, far_above = (function(x + k * step) for k in (-2, -1, 0, 1, 2))
        first = (far_below - 8 * below + 8 * above - far_above) / (12 * step)
        second = (16 * (below + above) - far_below - far_above - 30 * here) / (12 * step * step)
        return float(first), float(second)


def main() -> None:
    """Write the file."""
    found = {name: [derivatives(name, point) for point in curve.points] for name, curve in CURVES.items()}
    FILE.write_text(
        "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in found.items()) + "\n}\n"
    )


if __name__ == "__main__":
    main()
