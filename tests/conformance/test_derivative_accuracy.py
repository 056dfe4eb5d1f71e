"""First and second derivatives beside mpmath's, where formulas may cancel: near poles, zeros and limits.

A derivative is right to ten digits, unless a table says why it is not. Its tangents are those of the same formulas:
the first by forward mode, the second by forward mode over the gradient.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curves import CURVES, Curve
from excuses import Known, Table

import opwright
from opwright import func

pytestmark = pytest.mark.filterwarnings("ignore")

EXACT = json.loads(Path(__file__).with_name("exact_curves.json").read_text(encoding="utf-8"))

_RESULT = "its gradient is made of the result, as PyTorch's: near 1 that has no digits of what is left to 1"
_COMPOSED = "it is made of others, whose slopes cancel, as in PyTorch"
KNOWN = Table(
    "test_derivative_accuracy.KNOWN",
    Known("sigmoid|softmax|log_softmax", r"at (-?1e-(08|20|100)|1[19][.]0|[34]0[.]0|100[.]0) ", _RESULT),
    Known("tanh|tanhshrink", r"at -?(11[.]0|19[.]0|[34]0[.]0|100[.]0) ", _RESULT),
    Known("logsumexp", r"second.*at (1[19][.]0|[34]0[.]0|100[.]0) ", _RESULT),
    Known("glu", r"first.*at (19[.]0|[34]0[.]0|100[.]0) ", "1 - sigmoid(x) is faster than sigmoid(-x)"),
    Known("glu", r"second tangent at (-?1e-(08|20|100)|(19|30|40|100)[.]0) ", "PyTorch's glu_backward_jvp does so"),
    Known("binary_cross_entropy_with_logits", r"second.*at (19[.]0|[34]0[.]0|100[.]0) ", "the slope of sigmoid"),
    Known("tanhshrink", r"first.*at -?(1e-(08|20|100)|0.001) ", _COMPOSED),
    Known("softsign", r"at -?(100000000[.]0|100[.]0) ", _COMPOSED),
    Known("hypot", r"second.*at -?(100000000[.]0|100[.]0) ", "1 / h and x² / h³ cancel, as in PyTorch"),
    Known("gelu", r"first.*at -(11|19|30)[.]0 ", "1 + erf(x / √2) is faster than erfc, and PyTorch's"),
)


def derivatives(curve: Curve) -> dict[str, np.ndarray]:
    """By gradients and by tangents."""

    def slope(x: Any) -> Any:
        return func.grad(lambda each: curve.function(each).sum())(x)

    x = opwright.tensor(curve.points, dtype=opwright.float64)
    ones = opwright.ones_like(x)
    found = {
        "first gradient": slope(x),
        "second gradient": func.grad(lambda each: slope(each).sum())(x),
        "first tangent": func.jvp(curve.function, (x,), (ones,))[1],
        "second tangent": func.jvp(slope, (x,), (ones,))[1],
    }
    return {name: np.asarray(each.array) for name, each in found.items()}


def problems(name: str) -> Iterator[str]:
    """Each derivative that has not ten digits."""
    curve = CURVES[name]
    found = derivatives(curve)
    for place, (point, exact) in enumerate(zip(curve.points, EXACT[name], strict=True)):
        for kind, values in found.items():
            right = exact[kind.startswith("second")]
            if not np.isclose(values[place], right, rtol=1e-10, atol=1e-250):
                yield f"{kind} at {point!r} is {values[place]!r}, not {right!r}"


@pytest.mark.parametrize("name", CURVES)
def test_derivatives(name: str) -> None:
    with np.errstate(all="ignore"):
        found = [each for each in problems(name) if not KNOWN.covers(name, each)]
    if found:
        pytest.fail(f"{len(found)} derivatives\n" + "\n".join(found[:8]), pytrace=False)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["logsigmoid", "mish", "sinc", "erfcx", "atanh", "hypot"])
def test_the_file_holds_what_mpmath_computes(name: str) -> None:
    pytest.importorskip("mpmath", reason="PyTorch brings mpmath: make test ORACLE=1")
    from exact_curves import derivatives as exact

    assert [list(exact(name, point)) for point in CURVES[name].points] == EXACT[name]
