"""Symbolic numbers: the laws of their arithmetic, one object for one expression, guards, and what ranges decide."""

from __future__ import annotations

import copy
import math
import operator
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import opwright
from opwright.symbolic import (
    GuardOnDataDependentError,
    ShapeEnv,
    SymBool,
    SymFloat,
    SymInt,
    check,
    check_is_size,
    guard_or_false,
    guard_or_true,
    statically_known_true,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_sqrt,
    sym_sum,
)

ON_INTS: list[Callable[..., Any]] = [
    operator.and_, operator.or_, operator.xor, lambda a, b: a << abs(b) % 3, lambda a, b: a >> abs(b) % 3,
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, sym_max, sym_min,
    lambda a, b: divmod(a, b)[1], lambda a, b: sym_ite(a < b, a, b + 1), lambda a, b: sym_sum([a, b, a]),
    lambda a, b: abs(a - b), lambda a, b: -a, lambda a, b: a**2, lambda a, b: sym_int(a < b),
    lambda a, b: (a < b) + b,
]  # fmt: skip
ON_FLOATS: list[Callable[..., Any]] = [
    operator.truediv, lambda a, b: a * 0.3, lambda a, b: sym_float(a) - b, lambda a, b: sym_float(a) // 2.5,
    lambda a, b: sym_float(a) % 1.7, lambda a, b: sym_sqrt(abs(a)), lambda a, b: abs(-sym_float(a)),
    lambda a, b: math.floor(a / 3), lambda a, b: math.ceil(a / 3), lambda a, b: sym_int(a / 3),
    lambda a, b: round(a / 3), lambda a, b: sym_max(a, 2.5), lambda a, b: sym_min(b, 2.5),
]  # fmt: skip
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def leaf() -> st.SearchStrategy[Any]:
    return st.one_of(st.sampled_from(["a", "b", "c"]), st.integers(-7, 9))


def tree() -> st.SearchStrategy[Any]:
    """Nested (operation, left, right) over the names of symbols and small ints."""
    return st.recursive(leaf(), lambda inner: st.tuples(st.sampled_from(ON_INTS), inner, inner), max_leaves=8)


def compute(expression: Any, values: dict[str, Any]) -> Any:
    if isinstance(expression, tuple):
        of, left, right = expression
        return of(compute(left, values), compute(right, values))
    return values[expression] if isinstance(expression, str) else expression


ShapeEnv()  # imports sympy, which would count for the first example's time
HINTS = {"a": 5, "b": 12, "c": 3}


def symbols(env: ShapeEnv) -> dict[str, Any]:
    return {name: env.create_symbol(hint, name) for name, hint in HINTS.items()}


def at(env: ShapeEnv, value: Any, values: dict[str, int]) -> Any:
    return env.evaluate(value, dict(zip(["s0", "s1", "s2"], values.values(), strict=True)))


def computed(of: Callable[[], Any]) -> Any:
    """The result; an example that divides by zero, or overflows, says nothing."""
    try:
        return of()
    except (ZeroDivisionError, OverflowError):
        assume(False)


@given(tree(), st.tuples(st.integers(2, 40), st.integers(2, 40), st.integers(2, 40)))
def test_an_expression_equals_the_computation_at_all_sizes(expression: Any, sizes: tuple[int, int, int]) -> None:
    env = ShapeEnv()
    values = dict(zip(HINTS, sizes, strict=True))
    expected = computed(lambda: compute(expression, values))
    symbolic = computed(lambda: compute(expression, symbols(env)))
    assert at(env, symbolic, values) == expected
    assert env.guards == []
    if isinstance(symbolic, SymInt):
        assert symbolic.hint == compute(expression, HINTS)
        low, high = env._knowledge.interval(symbolic.expr)
        assert low <= expected <= high


@given(st.sampled_from(ON_FLOATS), tree(), tree(), st.tuples(*[st.integers(2, 40)] * 3))
def test_floats_are_computed_as_python_does(of: Any, left: Any, right: Any, sizes: tuple[int, int, int]) -> None:
    env = ShapeEnv()
    values = dict(zip(HINTS, sizes, strict=True))
    expected = computed(lambda: compute((of, left, right), values))
    symbolic = computed(lambda: compute((of, left, right), symbols(env)))
    found = at(env, symbolic, values)
    assert found == expected and type(found) is type(expected)
    assert env.guards == []


@given(st.sampled_from(COMPARISONS), tree(), tree(), st.booleans(), st.tuples(*[st.integers(2, 40)] * 3))
def test_comparisons(of: Any, left: Any, right: Any, negated: bool, sizes: tuple[int, int, int]) -> None:
    env = ShapeEnv()
    values = dict(zip(HINTS, sizes, strict=True))
    expected = computed(lambda: compute((of, left, right), values)) is not negated
    here = computed(lambda: compute((of, left, right), HINTS)) is not negated
    symbolic = computed(lambda: compute((of, left, right), symbols(env)))
    symbolic = sym_not(symbolic) if negated else symbolic
    assert at(env, symbolic, values) == expected
    assert bool(symbolic) is bool(symbolic) is here
    # Decided once: what the branch learnt answers the next one, and its opposite.
    assert len(env.guards) == isinstance(symbolic, SymBool)
    again = compute((of, left, right), symbols(env))
    assert bool(again) is not negated if here else bool(again) is negated
    assert len(env.guards) == isinstance(symbolic, SymBool)
    bindings = dict(zip(["s0", "s1", "s2"], sizes, strict=True))
    assert (env.check(bindings) == []) == (expected == here or env.guards == [])


@given(
    st.lists(st.tuples(st.sampled_from(COMPARISONS), tree(), tree()), max_size=6), st.tuples(*[st.integers(2, 9)] * 3)
)
def test_guards_that_hold_mean_the_same_way(branches: Any, sizes: tuple[int, int, int]) -> None:
    """Wherever `check` finds nothing, the program takes the branches that it took."""
    env = ShapeEnv()
    values = dict(zip(HINTS, sizes, strict=True))
    names = symbols(env)
    taken = [bool(computed(lambda branch=branch: compute(branch, names))) for branch in branches]
    assert taken == [compute(branch, HINTS) for branch in branches]
    assert env.check(dict(zip(["s0", "s1", "s2"], HINTS.values(), strict=True))) == []
    if not computed(lambda: env.check(dict(zip(["s0", "s1", "s2"], sizes, strict=True)))):
        assert [computed(lambda branch=branch: compute(branch, values)) for branch in branches] == taken


def test_one_object_for_one_expression() -> None:
    env = ShapeEnv()
    a, b = env.create_symbol(5), env.create_symbol(7)
    assert env.create_symbol(5) is a and ShapeEnv(duck_shape=False).create_symbol(5) is not a
    assert a + b is b + a and (a + 1) * b is a * b + b and hash(a * 2) == hash(a + a)
    assert (a * b) // b is a and a + 0 is a and a * 0 == 0 and type(a - a) is int
    assert {(a, 3): "found"}[env.create_symbol(5), 3] == "found"
    assert (a < b) is (b > a) is ~(a >= b)
    assert copy.deepcopy(a) is a
    assert a != None and a != "s0" and a != ()  # noqa: E711
    assert a + 2 is not a + 2.0 and type(a + 2.0) is SymFloat
    with pytest.raises(TypeError):
        a + "x"
    with pytest.raises(RuntimeError, match="another ShapeEnv"):
        a + ShapeEnv().create_symbol(9)


def test_zero_and_one_specialize() -> None:
    assert [ShapeEnv().create_symbol(size) for size in (0, 1)] == [0, 1]
    env = ShapeEnv(specialize_zero_one=False)
    one = env.create_symbol(1)
    assert isinstance(one, SymInt) and isinstance(one == 1, SymBool) and one >= 0
    assert env.ranges == {"s0": (0, math.inf)}


def test_ranges_decide() -> None:
    env = ShapeEnv()
    a, b = env.create_symbol(5), env.create_symbol(7)
    decided = [
        a > 1, a != 0, a + b >= 4, a * b > b, 2 * a != 3, a // 2 >= 1, a % 4 < 4, sym_max(a, b) >= a,
        -a < 0, abs(a - b) >= 0, (a + 3) // (a + 3) == 1, a * 4 % 2 == 0, a != 2.5, a < math.inf,
    ]  # fmt: skip
    assert decided == [True] * len(decided) and env.guards == []
    assert env.guards == []


def test_guards_narrow_ranges_and_know_their_line() -> None:
    env = ShapeEnv()
    a, b = env.create_symbol(5, "x.shape[0]"), env.create_symbol(7, "y.shape[0]")
    if not a > 3:  # the guard's line
        raise AssertionError
    (guard,) = env.guards
    assert str(guard.expression) == "s0 > 3" and guard.value is True and guard.location is not None
    assert guard.location.filename == __file__ and "the guard's line" in guard.location.text
    assert a >= 4 and a != 3 and not a < 2 and len(env.guards) == 1
    assert a != b and b != a and (a, 2) != (b, 2) and len(env.guards) == 2
    assert [str(each.expression) for each in env.check({"s0": 3, "s1": 3})] == ["s0 > 3", "s0 != s1"]
    assert [str(each.expression) for each in env.check({"s0": 1, "s1": 7})] == ["s0 >= 2", "s0 > 3"]
    assert "s0 > 3" in repr(env) and "x.shape[0]" in repr(env)


def test_int_specializes() -> None:
    env = ShapeEnv()
    a = env.create_symbol(5)
    assert [0] * a == [0] * 5 and list(range(a + 1)) == [0, 1, 2, 3, 4, 5]
    assert [str(guard.expression) for guard in env.guards] == ["s0 == 5"]
    assert int(a * 2) == 10 and a == 5 and a * 3 == 15 and float(a / 2) == 2.5 and len(env.guards) == 1
    assert repr(a) == "5"


def test_equal_symbols_become_one() -> None:
    env = ShapeEnv(duck_shape=False)
    a, b, c = env.create_symbol(6), env.create_symbol(6), env.create_symbol(3)
    assert a == b and a == 2 * c
    assert len(env.guards) == 2
    assert a * c + 1 == b * c + 1 and (b // c) == 2 and (a, c) == (b, c) and b % 2 == 0
    assert len(env.guards) == 2
    assert env.evaluate(a * b, {"s0": 6, "s1": 6, "s2": 3}) == 36
    assert [str(each.expression) for each in env.check({"s0": 6, "s1": 8, "s2": 3})] == ["s0 == s1"]


def test_unbacked() -> None:
    env = ShapeEnv()
    u, v = env.create_unbacked_symint(), env.create_unbacked_symint(min=2, max=9)
    assert (str(u), str(v), u.hint) == ("u0", "u1", None)
    assert u >= 0 and v <= 9 and u + v > 1 and u == u and u - u == 0
    for branch in (lambda: u == 5, lambda: v > 3, lambda: u > v):
        with pytest.raises(GuardOnDataDependentError):
            bool(branch())
        assert guard_or_false(branch()) is False and guard_or_true(branch()) is True
        assert not statically_known_true(branch())
    assert env.guards == env.deferred == []
    with pytest.raises(GuardOnDataDependentError, match=r"int\(u0\)"):
        int(u)
    with pytest.raises(GuardOnDataDependentError):
        env.size_hint(u)


def test_checks_of_unbacked_sizes_are_deferred() -> None:
    env = ShapeEnv()
    u, a = env.create_unbacked_symint(min=-5), env.create_symbol(5)
    largest = sym_max(u, 1)
    check_is_size(u)
    check(u < 10, "too many")
    assert u >= 0 and not u > 9 and env.ranges["u0"] == (0, 9)
    check(u != 0)
    assert u >= 1 and sym_max(u, 1) is u and largest == u
    check(u == a - 1, lambda: "one less")
    assert u + 1 is a and u * 2 == 2 * a - 2 and (u, 3) == (a - 1, 3)
    assert [(str(each.expression), each.message) for each in env.deferred][1::2] == [
        ("u0 < 10", "too many"), ("u0 == s0 - 1", "one less"),
    ]  # fmt: skip
    with pytest.raises(RuntimeError, match="never"):
        check(u > 20, "never")
    assert env.guards == []
    check(a > 3)
    assert [str(each.expression) for each in env.guards] == ["s0 > 3"]
    with pytest.raises(RuntimeError, match="s0"):
        check(a > 8)


def test_checks_of_plain_conditions() -> None:
    check(True)
    check_is_size(3)
    assert guard_or_false(1) is True and guard_or_true(0) is False and statically_known_true(True)
    with pytest.raises(RuntimeError, match="no"):
        check(False, "no")
    with pytest.raises(RuntimeError, match="-1"):
        check_is_size(-1)
    assert (sym_max(2, 3), sym_min(2, 3.0), sym_not(True), sym_ite(False, 1, 2), sym_sum([1, 2])) == (
        3,
        2.0,
        False,
        2,
        3,
    )
    assert (sym_int(2.7), sym_float(2), sym_sqrt(4)) == (2, 2.0, 2.0) and opwright.sym_max is sym_max


def test_ranges_are_constrained() -> None:
    env = ShapeEnv()
    u, a = env.create_unbacked_symint(), env.create_symbol(5)
    env.constrain_range(u, min=3, max=8)
    env.constrain_range(a, max=64)
    assert u != 2 and u <= 8 and a < 65 and env.ranges == {"u0": (3, 8), "s0": (2, 64)}
    env.constrain_range(u, min=4, max=4)
    assert int(u) == 4 and repr(u) == "4"
    for wrong in (lambda: env.constrain_range(a, max=4), lambda: env.constrain_range(u, min=5)):
        with pytest.raises(ValueError, match="is not within"):
            wrong()


def test_unbacked_conditions_and_floats() -> None:
    env = ShapeEnv()
    condition, number = env.create_unbacked_symbool(source="aten::equal"), env.create_unbacked_symfloat()
    for each in (lambda: bool(condition), lambda: bool(number > 2.5), lambda: float(number), lambda: bool(~condition)):
        with pytest.raises(GuardOnDataDependentError):
            each()
    check(~condition)
    assert not condition
    check(number > 2.5)
    assert number > 2.5
    assert env.evaluate(number * 2 + 1, {"uf0": 0.1}) == 0.1 * 2 + 1


def test_the_error_says_what_is_known_and_what_to_do() -> None:
    env = ShapeEnv()
    u = env.create_unbacked_symint(max=100, source="aten::nonzero")
    with pytest.raises(GuardOnDataDependentError) as caught:
        if u * 2 == 6:
            pass
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("2*u0 == 6 depends on data")
    assert lines[1].startswith(f"  asked at {__file__}:") and lines[1].endswith(
        "in test_the_error_says_what_is_known_and_what_to_do"
    )
    assert lines[2:4] == ["    if u * 2 == 6:", "       ^^^^^^^^^^"]
    assert lines[4].startswith("  0 <= u0 <= 100; made by aten::nonzero at " + __file__)
    assert "opwright.check(" in lines[5] and "guard_or_false" in lines[6]
    assert isinstance(caught.value, RuntimeError)


def test_sympy_is_imported_by_the_first_environment() -> None:
    program = (
        "import sys, opwright; print('sympy' in sys.modules, 'opwright.symbolic' in sys.modules)\n"
        "import opwright.symbolic; print('sympy' in sys.modules)\n"
        "opwright.symbolic.ShapeEnv(); print('sympy' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False", "False", "True"]
