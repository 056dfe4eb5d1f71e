"""The type of a rule: a function from an operator to the problem it has, if it has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from opwright_codegen.read.model import Operator
from opwright_codegen.records import dataclass
from opwright_codegen.source import Span

__all__ = ["Declared", "Problem", "Rule"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that a rule found: the rule's code is added when it is reported."""

    message: str
    span: Span
    hint: str | None = None


class Declared(NamedTuple):
    """The other operators, as far as a rule may ask about them."""

    operators: Mapping[str, Operator]
    base_names: frozenset[tuple[str, str]]


Rule = Callable[[Operator, Declared], Problem | None]
