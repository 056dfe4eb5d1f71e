"""Side effects that declarations do not tell: operators that print, count or talk to others. Semantics:
`torch.library._register_effectful_op`."""

from __future__ import annotations

import enum
from typing import Final

from opwright.registering.rules import put_rule
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.rule_table import RuleTable

__all__ = ["EFFECTS", "EffectType", "effect_of"]


class EffectType(enum.Enum):
    """A kind of side effect: calls of operators that have it keep their order, and stay though nobody reads them."""

    ORDERED = "Ordered"


EFFECTS: Final[RuleTable[EffectType | None]] = RuleTable()  # None: it was said to have none
put_rule(EFFECTS, "aten::_linalg_check_errors", EffectType.ORDERED)


def effect_of(op: Operator | str) -> EffectType | None:
    """Return the effect that an operator was given; None if it has none."""
    return EFFECTS.find(op.name if isinstance(op, Operator) else op.removesuffix(".default"))
