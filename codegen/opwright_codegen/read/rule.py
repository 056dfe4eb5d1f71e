"""What a rule is: a function from an operator to the problem it has, if it has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from opwright_codegen.read.model import Operator
from opwright_codegen.source import Span

__all__ = ["Declared", "Problem", "Rule"]


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule found: the rule's code is added when it is reported."""

    message: str
    span: Span
    hint: str | None = None


class Declared(NamedTuple):
    """What a rule may ask about the other operators."""

    operators: Mapping[str, Operator]
    base_names: frozenset[tuple[str, str]]


Rule = Callable[[Operator, Declared], Problem | None]
