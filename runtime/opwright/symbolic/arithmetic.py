"""Operations on symbolic numbers: of which kind the result is, its expression, and its value for the inputs at hand.

An operation takes expressions that already have one kind, and returns a finished expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from opwright.symbolic import integers, relations
from opwright.symbolic.evaluation import FUNCTIONS
from opwright.symbolic.expressions import MINUS_ONE, Expr, add, constant, is_constant, multiply, subtract, value_of
from opwright.symbolic.integers import IntervalOf

COMPARISONS: Final = frozenset(["eq", "ne", "lt", "le", "gt", "ge"])
_MIRRORED: Final = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}

ON_INTS: Final[dict[str, Callable[[Expr, Expr, IntervalOf], Expr]]] = {
    "add": lambda a, b, _: add(a, b),
    "sub": lambda a, b, _: subtract(a, b),
    "mul": lambda a, b, _: multiply(a, b),
    "floordiv": integers.floordiv,
    "mod": integers.mod,
    "pow": lambda a, b, _: integers.power(a, b),
    "max": lambda a, b, interval: integers.extreme("Max", [a, b], interval),
    "min": lambda a, b, interval: integers.extreme("Min", [a, b], interval),
}
_ON_FLOATS: Final = {
    "add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "truediv", "floordiv": "ffloordiv", "mod": "fmod",
    "pow": "fpow", "max": "fmax", "min": "fmin", **{name: f"f{name}" for name in COMPARISONS},
}  # fmt: skip
ON_BITS: Final = {"and": "bitand", "or": "bitor", "xor": "bitxor", "lshift": "lshift", "rshift": "rshift"}
OPERATIONS: Final = frozenset([*_ON_FLOATS, *ON_BITS])


def on_bits(name: str, a: Expr, b: Expr, interval: IntervalOf) -> Expr:
    """Apply `& | ^ << >>` to ints. Shifts by a known number multiply and divide."""
    if name in ("lshift", "rshift") and b.is_Integer and b.p >= 0:
        factor = constant(1 << int(b.p))
        return multiply(a, factor) if name == "lshift" else integers.floordiv(a, factor, interval)
    return integers.rebuilt(ON_BITS[name], [a, b], interval)


def as_float(expr: Expr) -> Expr:
    """Return an int's expression as a float's."""
    return integers.rebuilt("float", [expr], _no_ranges)


def as_int(condition: Expr) -> Expr:
    """Return a condition's expression as 0 or 1."""
    return integers.choose(condition, constant(1), constant(0))


def on_floats(name: str, a: Expr, b: Expr) -> Expr:
    """Apply an operation to floats, or compare them. Computed as Python does, never rearranged."""
    return integers.rebuilt(_ON_FLOATS[name], [a, b], _no_ranges)


def _no_ranges(expr: Expr) -> Any:
    raise AssertionError("floats have no ranges")


def compare_with_float(name: str, number: Expr, value: float) -> Expr:
    """Compare an int with a float: exact, as in Python, by comparing with an int."""
    if math.isnan(value):
        return constant(name == "ne")
    if math.isinf(value):
        return constant(bool(FUNCTIONS[name](0, value)))
    if value.is_integer():
        return relations.compare(name, number, constant(int(value)))
    if name in ("eq", "ne"):
        return constant(name == "ne")
    return relations.compare("le" if name in ("lt", "le") else "gt", number, constant(math.floor(value)))


def compare_numbers(name: str, a: Expr, b: Expr, a_is_int: bool, b_is_int: bool) -> Expr:
    """Compare two numbers."""
    if a_is_int and b_is_int:
        return relations.compare(name, a, b)
    if a_is_int and is_constant(b):
        return compare_with_float(name, a, float(value_of(b)))
    if b_is_int and is_constant(a):
        return compare_with_float(_MIRRORED[name], b, float(value_of(a)))
    return on_floats(name, as_float(a) if a_is_int else a, as_float(b) if b_is_int else b)


def compare_conditions(name: str, a: Expr, b: Expr) -> Expr:
    """Apply `==` or `!=` to conditions."""
    both = relations.combine("and", [a, b])
    neither = relations.combine("and", [relations.negate(a), relations.negate(b)])
    same = relations.combine("or", [both, neither])
    return same if name == "eq" else relations.negate(same)


def negated(expr: Expr) -> Expr:
    """Return `-a` of an int."""
    return multiply(MINUS_ONE, expr)


def unary_on_floats(name: str, expr: Expr) -> Expr:
    """Apply neg, abs, floor, ceil, trunc or sqrt to a float."""
    return integers.rebuilt({"neg": "fneg", "abs": "fabs"}.get(name, name), [expr], _no_ranges)
