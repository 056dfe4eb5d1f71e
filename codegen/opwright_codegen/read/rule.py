"""Rules: functions from an operator to its problem or None. Rules of ATen alone are advice for other operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.read.model import Operator
from opwright_codegen.records import dataclass
from opwright_codegen.schema.names import PYTORCHS
from opwright_codegen.source import Span

__all__ = ["OF_ATEN", "Declared", "Problem", "Rule", "report"]

# Rules of torchgen that PyTorch's registration does not have.
OF_ATEN: Final = frozenset(
    (
        # names
        *("reserved-suffix", "reserved-overload"),
        # what is written, and what is returned of that
        *("inplace-self", "inplace-returns", "inplace-out", "out-returns", "argument-after-out"),
        *("mutable-returned", "mixed-returns", "unknown-alias"),
        # tags and kernels
        *("missing-seeded-tag", "inplace-view-name", "missing-inplace-view-tag", "implicit-factory"),
        # variants of an operator
        *("duplicate-kind", "no-functional", "functional-name"),
    )
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that a rule found. The report adds the code of the rule."""

    message: str
    span: Span
    hint: str | None = None


class Declared(NamedTuple):
    """The other operators, for rules about several."""

    operators: Mapping[str, Operator]
    base_names: frozenset[tuple[str, str]]


Rule = Callable[[Operator, Declared], Problem | None]


def report(operator: Operator, error: SchemaError, errors: Errors) -> None:
    """Record a broken rule as an error or as advice."""
    is_default = error.code == "reserved-overload" and operator.schema.name.overload == "default"  # nobody may
    if operator.namespace != PYTORCHS and error.code in OF_ATEN and not is_default:
        errors.advise(error)
    else:
        errors.add(error)
