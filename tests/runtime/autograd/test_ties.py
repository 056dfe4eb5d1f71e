"""Gradients and tangents where operands are equal, or NaN: those of PyTorch 2.14, except `fmax` and `fmin` of NaN.

`fmax` and `fmin` leave NaN out, so the other operand has the gradient: PyTorch 2.13 and 2.15; 2.14 gives it to both.

Each cell holds the gradient of each operand, and the tangent where theirs are 1, 10 and 100.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

import opwright
import opwright.autograd.forward_ad as forward_ad

PAIRS = [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (1.0, math.nan), (math.nan, 1.0), (math.nan, math.nan)]
GREATER = "0.5 0.5 5.5 | 0 1 10 | 1 0 1 | 1 1 10 | 1 1 10 | 1 1 10"
LESS = "0.5 0.5 5.5 | 1 0 1 | 0 1 10 | 1 1 10 | 1 1 10 | 1 1 10"
LEAVES_NAN_OUT = "1 0 1 | 0 1 10 | 1 0 1"

BOUNDS = [None, 0.0, 1.0, 2.0, 3.0, math.nan]
CLAMPED = {  # a row for each lower bound, a column for each upper one
    1.0: """
        -           | 0 1 100   | 0.5 0.5 50.5   | 1 0 1         | 1 0 1         | 1 1 100
        1 0 1       | 0 0 1 100 | 0.5 0 0.5 50.5 | 1 0 0 1       | 1 0 0 1       | 1 0 0 1
        0.5 0.5 5.5 | 0 0 1 100 | 1 0 0 1        | 0.5 0.5 0 5.5 | 0.5 0.5 0 5.5 | 1 0 0 1
        0 1 10      | 0 0 1 100 | 0 0 1 100      | 0 1 0 10      | 0 1 0 10      | 0 0 0 10
        0 1 10      | 0 0 1 100 | 0 0 1 100      | 0 0 1 100     | 0 1 0 10      | 0 0 0 10
        1 1 10      | 0 0 0 100 | 1 0 0 1        | 1 0 0 1       | 1 0 0 1       | 1 0 0 1
    """,
    math.nan: """
        -      | 1 1 100   | 1 1 100   | 1 1 100   | 1 1 100 | 1 1 100
        1 1 10 | 1 0 0 1   | 1 0 0 1   | 1 0 0 1   | 1 0 0 1 | 1 0 0 1
        1 1 10 | 1 0 1 100 | 1 0 0 1   | 1 0 0 1   | 1 0 0 1 | 1 0 0 1
        1 1 10 | 1 0 1 100 | 1 0 1 100 | 1 0 0 1   | 1 0 0 1 | 1 0 0 1
        1 1 10 | 1 0 1 100 | 1 0 1 100 | 1 0 1 100 | 1 0 0 1 | 1 0 0 1
        1 1 10 | 1 0 0 1   | 1 0 0 1   | 1 0 0 1   | 1 0 0 1 | 1 0 0 1
    """,
}
# By numbers, of 1: the gradient alone. Of NaN there is none.
CLAMPED_BY_NUMBERS = """
    - 0 0 1 1 0
    1 0 0 1 1 0
    0 0 0 0 0 0
    0 0 0 0 0 0
    0 0 0 0 0 0
    0 0 0 0 0 0
"""


def derivatives(function: Any, *values: float | None) -> str:
    """Return a cell: gradients and the tangent of a call with numbers of dimension 0."""
    given = [None if each is None else opwright.tensor(each, dtype=opwright.float64) for each in values]
    leaves = [None if each is None else each.clone().requires_grad_() for each in given]
    found = opwright.autograd.grad(function(*leaves), [each for each in leaves if each is not None])
    with forward_ad.dual_level():
        duals = [
            None if each is None else forward_ad.make_dual(each, opwright.full_like(each, 10.0**place))
            for place, each in enumerate(given)
        ]
        tangent = forward_ad.unpack_dual(function(*duals)).tangent
    return " ".join(f"{each.item():g}" for each in (*found, tangent))


@pytest.mark.parametrize("name", ["maximum", "fmax", "clamp_min", "minimum", "fmin", "clamp_max"])
def test_two_operands(name: str) -> None:
    wanted = LESS if name in ("minimum", "fmin", "clamp_max") else GREATER
    if name in ("fmax", "fmin"):
        wanted = wanted.removesuffix("1 1 10 | 1 1 10 | 1 1 10") + LEAVES_NAN_OUT
    assert " | ".join(derivatives(getattr(opwright, name), *pair) for pair in PAIRS) == wanted


@pytest.mark.parametrize("value", CLAMPED)
def test_clamp_by_tensors(value: float) -> None:
    rows = [[cell.strip() for cell in line.split("|")] for line in CLAMPED[value].strip().splitlines()]
    for low, row in zip(BOUNDS, rows, strict=True):
        for high, wanted in zip(BOUNDS, row, strict=True):
            if wanted != "-":
                assert derivatives(opwright.clamp, value, low, high) == wanted, (value, low, high)


def test_clamp_by_numbers() -> None:
    rows = [line.split() for line in CLAMPED_BY_NUMBERS.strip().splitlines()]
    for low, row in zip(BOUNDS, rows, strict=True):
        for high, wanted in zip(BOUNDS, row, strict=True):
            if wanted != "-":

                def clamped(x: Any, low: Any = low, high: Any = high) -> Any:
                    return opwright.clamp(x, low, high)

                assert derivatives(clamped, 1.0) == f"{wanted} {wanted}", (low, high)
                assert derivatives(clamped, math.nan) == "0 0", (low, high)
            if wanted != "-" and high is None:
                assert derivatives(lambda x, low=low: opwright.clamp_min(x, low), 1.0) == f"{wanted} {wanted}"
            if wanted != "-" and low is None:
                assert derivatives(lambda x, high=high: opwright.clamp_max(x, high), 1.0) == f"{wanted} {wanted}"


@pytest.mark.parametrize(("name", "loses"), [("maximum", 0), ("fmax", 0), ("minimum", 1), ("fmin", 1)])
@pytest.mark.parametrize("tangent", [math.inf, math.nan])
def test_what_loses_leaves_no_trace(name: str, loses: int, tangent: float) -> None:
    """Its tangent may be infinite."""
    values, tangents = [1.0, 2.0], [3.0, 3.0]
    tangents[loses] = tangent
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(opwright.tensor(v), opwright.tensor(t)) for v, t in zip(values, tangents, strict=True)
        ]
        assert forward_ad.unpack_dual(getattr(opwright, name)(*duals)).tangent.item() == 3
