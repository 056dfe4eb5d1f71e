"""The family of an operator whose formula was given at run time (`custom_op(meta=...)`, `register_meta`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opwright.batching.along import Along, Everything
from opwright.batching.families import Elementwise
from opwright.batching.leading import Folded, Leading
from opwright.batching.products import Reducing
from opwright.batching.tables import Family
from opwright.dimensions.declared import family_of_formula

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["FAMILIES", "family_by_formula"]

FAMILIES: Final = {each.__name__: each for each in (Along, Elementwise, Everything, Folded, Leading, Reducing)}


def family_by_formula(operator: Operator) -> Family | None:
    """Return the family that an operator's formula tells; None where it has none, or one that tells nothing of it."""
    made: Family | None = family_of_formula(operator, FAMILIES)
    return made
