"""Expressions at concrete values of their symbols, computed as Python does."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final

from opwright.symbolic.expressions import Expr, is_constant, value_of

Value = int | float | bool

_COMPARISONS: Final[dict[str, Callable[..., Any]]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
# What a Call's name means. Those with an f are the same on floats, which sympy and the simplifier leave alone.
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "Max": max,
    "Min": min,
    "abs": abs,
    **_COMPARISONS,
    **{f"f{name}": of for name, of in _COMPARISONS.items()},
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmul": operator.mul,
    "truediv": operator.truediv,
    "ffloordiv": operator.floordiv,
    "fmod": operator.mod,
    "fpow": operator.pow,
    "fneg": operator.neg,
    "fabs": abs,
    "fmax": max,
    "fmin": min,
    "float": float,
    "sqrt": math.sqrt,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
    "and": lambda *conditions: all(conditions),
    "or": lambda *conditions: any(conditions),
    "not": operator.not_,
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
}


def evaluate(expr: Expr, value_of_symbol: Callable[[Expr], Value]) -> Any:
    """Return the expression's value, with each symbol's value asked for."""
    if is_constant(expr):
        return value_of(expr)
    if expr.is_Symbol:
        return value_of_symbol(expr)
    if expr.is_Add:
        return sum(evaluate(each, value_of_symbol) for each in expr.args)
    if expr.is_Mul:
        return math.prod(evaluate(each, value_of_symbol) for each in expr.args)
    if expr.is_Pow:
        return evaluate(expr.args[0], value_of_symbol) ** int(expr.args[1].p)
    if expr.name == "where":
        condition, then, otherwise = expr.arguments
        return evaluate(then if evaluate(condition, value_of_symbol) else otherwise, value_of_symbol)
    return FUNCTIONS[expr.name](*[evaluate(each, value_of_symbol) for each in expr.arguments])
