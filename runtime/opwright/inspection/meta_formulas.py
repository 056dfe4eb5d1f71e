"""Formulas of operators that are given at run time, in the words of `meta:` of schema files: `pointwise(x, other)`.

`FORMULAS.find(name)` is the newest of an operator. What is derived from it, as fake kernels and batching rules are,
goes by the rule's name and by which argument of the operator each operand is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from opwright_core.dispatch.registry.rule_table import RuleTable

__all__ = ["FORMULAS", "Expression", "MetaFormula", "RuleCall"]


@dataclass(frozen=True, slots=True)
class Expression:
    """A value that a rule is passed: its text, and the operator's argument that it is, if it is one as it stands."""

    text: str
    argument: str | None


@dataclass(frozen=True, slots=True)
class RuleCall:
    """A call of a rule of `opwright.rules`: by position, and by name."""

    rule: str
    positional: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class MetaFormula:
    """The formula of an operator's results.

    `calls` has one call for each output, or a single one whose rule gives the plans of all; None stands for a choice
    between rules (`… if … else …`). `operands` are the arguments that a kernel of a schema file would get cast and
    broadcast, None where one is no argument as it stands; `has_list`: they are the elements of the only one.
    `plans(*arguments)` is the formula itself, of all arguments with arrays for tensors: a Plan, or several. `family` is
    that of the batching rule, where the formula tells it: its name, and what makes it, by position and by name.
    """

    text: str
    calls: tuple[RuleCall | None, ...]
    operands: tuple[str | None, ...]
    has_list: bool
    plans: Callable[..., Any]
    family: tuple[str, tuple[Any, ...], tuple[tuple[str, Any], ...]] | None


FORMULAS: Final[RuleTable[MetaFormula]] = RuleTable()
