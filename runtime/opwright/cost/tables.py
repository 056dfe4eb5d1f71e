"""Tables of what is said of the costs of operators: at run time, and in generated packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright.variants.functional_variants import functional_variant
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.rule_table import RuleTable
from opwright_core.texts.package_tables import table_of

__all__ = ["COSTS", "Said", "functional_of", "said_of"]

# A text, or a function of the call's arguments, which also gets `out_val`: the number of operations, or a Cost.
Said = str | Callable[..., Any]
COSTS: Final[RuleTable[Said]] = RuleTable()


def said_of(operator: Operator) -> tuple[Said, str] | None:
    """Return what is said of an operator's cost, and how it is known; None where nothing is."""
    given = COSTS.find(operator.name)
    if given is not None:
        return given, "declared"
    text: str | None = table_of(operator, "costs", "COSTS").get(operator.name.partition("::")[2])
    if text is None:
        return None
    source, _, said = text.partition(": ")  # `declared: …`, `expression: …` or `kernel: …`
    return said, source


def functional_of(operator: Operator) -> Operator:
    """Return the operator that returns what this one writes, with the same arguments; itself where there is none, and
    for one that does not."""
    variant = functional_variant(operator) if operator.signature.written else None
    return (
        operator if variant is None or not all(isinstance(each, int) for each in variant.sources) else variant.operator
    )
