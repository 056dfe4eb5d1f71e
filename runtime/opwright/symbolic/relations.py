"""Comparisons of integers in one form, and conditions made of them.

Every comparison becomes a sum without constant, whose coefficients have no common divisor, that is `eq`, `ne`, `le` or
`ge` a number. So `a < b` and `b >= a + 1` are one object.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from opwright.symbolic.expressions import (
    FALSE,
    MINUS_ONE,
    ONE,
    TRUE,
    Call,
    Expr,
    add,
    constant,
    from_polynomial,
    in_order,
    polynomial,
)

_MIRRORED = {"le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


class Linear(NamedTuple):
    """A comparison `sum OP bound`, OP one of eq, ne, le, ge."""

    sum: Expr
    name: str
    bound: int


LINEAR = frozenset(["eq", "ne", "le", "ge"])


def linear(condition: Call) -> Linear:
    """Return the parts of a comparison that `compare` made."""
    return Linear(condition.arguments[0], condition.name, int(condition.arguments[1].p))


def compare(name: str, a: Expr, b: Expr) -> Expr:
    """Return `a OP b` in its one form; a truth value where the expressions alone tell."""
    difference = polynomial(a)
    for monomial, count in polynomial(b).items():
        difference[monomial] = difference.get(monomial, 0) - count
    shift = difference.pop(ONE, 0)
    difference = {monomial: count for monomial, count in difference.items() if count}
    if not difference:
        return constant(_holds(name, shift, 0))
    offset = 0
    if name in ("lt", "gt"):
        name, offset = ("le", 1) if name == "lt" else ("ge", -1)
    factor = _factor(difference)
    primitive = from_polynomial({monomial: count // factor for monomial, count in difference.items()})
    return _with_constant(primitive, name, factor, -shift - offset)


def split(expr: Expr) -> tuple[Expr, int, int]:
    """Return `expr` as `sum * factor + constant`, the sum primitive."""
    coefficients = polynomial(expr)
    shift = coefficients.pop(ONE, 0)
    factor = _factor(coefficients)
    if factor == 1 and not shift:
        return expr, 1, 0
    return from_polynomial({each: count // factor for each, count in coefficients.items()}), factor, shift


def _factor(coefficients: dict[Expr, int]) -> int:
    """Return what makes a sum primitive: its coefficients' common divisor, of the sign of the one that leads."""
    # The order of a sum's terms depends on their signs: it cannot say which one leads.
    lead = min(coefficients, key=in_order) if len(coefficients) > 1 else next(iter(coefficients))
    factor = math.gcd(*coefficients.values())
    return factor if coefficients[lead] > 0 else -factor


def _with_constant(sum: Expr, name: str, factor: int, bound: int) -> Expr:
    """Return `sum * factor OP bound`, divided by the factor."""
    if factor < 0:
        name, factor, bound = _MIRRORED[name], -factor, -bound
    if bound % factor and name in ("eq", "ne"):
        return constant(name == "ne")
    return Call(name, sum, constant(-(-bound // factor) if name == "ge" else bound // factor))


def _holds(name: str, a: int, b: int) -> bool:
    match name:
        case "eq" | "ne":
            return (a == b) is (name == "eq")
        case "le" | "lt":
            return a <= b if name == "le" else a < b
        case _:
            return a >= b if name == "ge" else a > b


def negate(condition: Expr) -> Expr:
    """Return the condition that holds where this one does not."""
    if condition is TRUE or condition is FALSE:
        return FALSE if condition is TRUE else TRUE
    match condition.name:
        case "eq" | "ne":
            return Call("ne" if condition.name == "eq" else "eq", *condition.arguments)
        case "le":
            return Call("ge", condition.arguments[0], add(condition.arguments[1], ONE))
        case "ge":
            return Call("le", condition.arguments[0], add(condition.arguments[1], MINUS_ONE))
        case "and" | "or":
            return combine("or" if condition.name == "and" else "and", [negate(each) for each in condition.arguments])
        case "not":
            return condition.arguments[0]
    return Call("not", condition)


def combine(name: str, conditions: Sequence[Expr]) -> Expr:
    """Return `and` or `or` of conditions."""
    decisive, neutral = (FALSE, TRUE) if name == "and" else (TRUE, FALSE)
    parts: set[Expr] = set()
    for each in conditions:
        if each is decisive:
            return decisive
        if each is not neutral:
            parts.update(each.arguments if each.name == name else [each])
    if any(negate(each) in parts for each in parts):
        return decisive
    if len(parts) < 2:
        return parts.pop() if parts else neutral
    return Call(name, *sorted(parts, key=in_order))
