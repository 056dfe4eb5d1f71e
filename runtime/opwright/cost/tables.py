"""Tables of what is said of the costs of operators: at run time, and in generated packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright.inspection.package_tables import table_of
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.rule_table import RuleTable
from opwright_core.dispatch.registry.tables import registry

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
    """Return the operator that returns what this one writes; itself where there is none, and for one that does not."""
    signature = operator.signature
    if not signature.written:
        return operator
    outputs = {signature.names[place] for place in signature.written if place >= signature.positional}
    names = [name for name in signature.names if name not in outputs]
    known = registry.overloads.get(operator.packet_name.removesuffix("_"))
    for each in known.operators.values() if known is not None else ():
        if not each.signature.written and sorted(each.signature.names) == sorted(names):
            same = [each.signature.types[n] == signature.types[signature.positions[name]]
                    for n, name in enumerate(each.signature.names)]  # fmt: skip
            if all(same):
                return each
    return operator
