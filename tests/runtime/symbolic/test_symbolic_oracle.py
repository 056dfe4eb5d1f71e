"""Symbolic numbers beside PyTorch's: the same programs give the same answers, and errors where it gives one."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright import symbolic
from opwright.symbolic import GuardOnDataDependentError, ShapeEnv

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
shapes = pytest.importorskip("torch.fx.experimental.symbolic_shapes")
pytestmark = pytest.mark.oracle
ShapeEnv()  # imports sympy, which would count for the first example's time

HINTS = (5, 12, 5, 3)
ON_INTS: list[Callable[..., Any]] = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, max, min, lambda a, b: a**2,
]  # fmt: skip
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def torch_symbols() -> list[Any]:
    """Backed symbols of PyTorch's, the equal hints of which share one."""
    env = shapes.ShapeEnv()
    made = []
    for place, hint in enumerate(HINTS):
        source = torch._dynamo.source.ConstantSource(f"x{place}")
        symbol = env.create_symbol(hint, source, dynamic_dim=shapes.DimDynamic.DUCK)
        made.append(env.create_symintnode(symbol, hint=hint, source=source))
    return made


def our_symbols() -> list[Any]:
    env = ShapeEnv()
    return [env.create_symbol(hint) for hint in HINTS]


def tree() -> st.SearchStrategy[Any]:
    leaf = st.one_of(st.sampled_from(["0", "1", "2", "3"]), st.integers(1, 6))
    return st.recursive(leaf, lambda inner: st.tuples(st.sampled_from(ON_INTS), inner, inner), max_leaves=5)


def compute(expression: Any, values: list[Any]) -> Any:
    if isinstance(expression, tuple):
        of, left, right = expression
        return of(compute(left, values), compute(right, values))
    return values[int(expression)] if isinstance(expression, str) else expression


def outcome(of: Callable[[], Any]) -> Any:
    try:
        return of()
    except ZeroDivisionError:
        return "division by zero"


@settings(deadline=None)
@given(st.sampled_from(COMPARISONS), tree(), tree())
def test_branches_go_the_same_way(of: Callable[..., Any], left: Any, right: Any) -> None:
    program = (of, left, right)
    assert outcome(lambda: bool(compute(program, our_symbols()))) == outcome(
        lambda: bool(compute(program, torch_symbols()))
    )


PROGRAMS: list[Callable[..., Any]] = [
    lambda m, a, b, c, d: a / 2,
    lambda m, a, b, c, d: a * 1.5 + b,
    lambda m, a, b, c, d: a**0.5,
    lambda m, a, b, c, d: a**-1,
    lambda m, a, b, c, d: math.floor(a / 2) + math.ceil(b / 7),
    lambda m, a, b, c, d: m.sym_int(b / 5),
    lambda m, a, b, c, d: round(a / 2),
    lambda m, a, b, c, d: round(b / 7, 1),
    lambda m, a, b, c, d: a // 1.5,
    lambda m, a, b, c, d: m.sym_max(a, b) - m.sym_min(b, 4),
    lambda m, a, b, c, d: m.sym_max(a, 2.5),
    lambda m, a, b, c, d: m.sym_ite(a == c, b, d),
    lambda m, a, b, c, d: m.sym_not(a == b),
    lambda m, a, b, c, d: m.sym_sqrt(a) + m.sym_float(d),
    lambda m, a, b, c, d: m.sym_sum([a, b, 3, c]),
    lambda m, a, b, c, d: (a > d) & (b > d) | (a == 7),
    lambda m, a, b, c, d: (a << 2) + (b >> 1),
    lambda m, a, b, c, d: (a & 6) | (b ^ d),
    lambda m, a, b, c, d: 1 << d,
    lambda m, a, b, c, d: list(range(a)) + [0] * d,
    lambda m, a, b, c, d: (a, b) == (c, b),
    lambda m, a, b, c, d: abs(d - a) + abs(a),
    lambda m, a, b, c, d: float(a) if a > 3 else None,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: Callable[..., Any]) -> None:
    expected, found = program(torch, *torch_symbols()), program(symbolic, *our_symbols())
    if isinstance(expected, torch.SymInt | torch.SymFloat | torch.SymBool):
        plain = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}[type(expected)]
        assert plain(found) == plain(expected)
    else:
        assert found == expected and type(found) is type(expected)


UNBACKED: list[Callable[..., Any]] = [
    lambda m, u: bool(u == 5),
    lambda m, u: bool(u > 3),
    lambda m, u: bool(u + 1 > 0),
    lambda m, u: bool(u >= 0),
    lambda m, u: int(u),
    lambda m, u: bool(u == u),
    lambda m, u: bool(u - u == 0),
    lambda m, u: bool(m.sym_max(u, 1) >= 1),
    lambda m, u: [m.check(u < 10), bool(u < 20)],
    lambda m, u: [m.check(u < 10), bool(u < 5)],
    lambda m, u: [m.check(u == 7), bool(u == 7), int(u) + 1, bool(u * 2 == 14)],
    lambda m, u: [m.check(u != 4), bool(u == 4)],
    lambda m, u: [m.check(u % 4 == 0), bool(u % 4 == 0)],
    lambda m, u: [m.guard_or_false(u == 1), m.guard_or_true(u == 1), m.statically_known_true(u >= 0)],
    lambda m, u: m.check(u < -1),
    lambda m, u: bool((u * 6) % 3 == 0),
]


class Torch:
    """PyTorch's functions under the names that ours have."""

    check = staticmethod(torch._check)
    sym_max = staticmethod(torch.sym_max)
    guard_or_false = staticmethod(shapes.guard_or_false)
    guard_or_true = staticmethod(shapes.guard_or_true)
    statically_known_true = staticmethod(shapes.statically_known_true)


@pytest.mark.parametrize("program", UNBACKED)
def test_unbacked_programs(program: Callable[..., Any]) -> None:
    theirs = shapes.ShapeEnv().create_unbacked_symint()
    torch._check(theirs >= 0)
    ours = ShapeEnv().create_unbacked_symint()
    try:
        expected = program(Torch, theirs)
    except shapes.GuardOnDataDependentSymNode:
        with pytest.raises(GuardOnDataDependentError):
            program(symbolic, ours)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            program(symbolic, ours)
    else:
        assert program(symbolic, ours) == expected
