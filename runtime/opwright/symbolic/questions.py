"""More questions to ask of sizes that may be symbolic, and functions of these under PyTorch's names."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from opwright_core.arrays.sizes import Symbolic, SymbolicBool, check, sym_max

__all__ = ["check_is_size", "larger", "statically_known_true", "sym_not", "sym_sqrt", "sym_sum"]


def statically_known_true(condition: Any) -> bool:
    """Whether the condition holds for all values that its symbols can have. Records no guard."""
    if isinstance(condition, SymbolicBool):
        known: bool | None = condition.env.decide(condition)
        return known is True
    return bool(condition)


def check_is_size(value: Any, message: str | Callable[[], str] = "") -> None:
    """Check that a number can be a size: it is not negative."""
    check(value >= 0, message or (lambda: f"expected a size, which is not negative, but got {value}"))


def larger(a: Any, b: Any) -> Any:
    """Return the larger number: one of the two, by a guard if need be; `sym_max` where only data could tell."""
    condition = a > b
    if not isinstance(condition, SymbolicBool):
        return a if condition else b
    known = condition.env.truth(condition)
    return sym_max(a, b) if known is None else a if known else b


def sym_not(condition: Any) -> Any:
    """Return the condition negated."""
    return ~condition if isinstance(condition, SymbolicBool) else not condition


def sym_sqrt(value: Any) -> Any:
    """Return the square root, a float."""
    return value.env.apply_unary("sqrt", value) if isinstance(value, Symbolic) else math.sqrt(value)


def sym_sum(values: Iterable[Any]) -> Any:
    """Return the sum of many numbers."""
    return functools.reduce(operator.add, values, 0)
