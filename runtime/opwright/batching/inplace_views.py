"""Operators that make a view of a tensor in place: the batched tensor gets the value that the functional one has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.batching.tables import BatchRule
from opwright.levels.inside import value_of
from opwright.variants.functional_variants import view_of
from opwright_core.state import active_modes, set_modes

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["inplace_view_rule"]


def inplace_view_rule(operator: Operator) -> BatchRule:
    """Return the rule of an operator that changes only what a tensor says of its memory. It raises RuntimeError for
    those that make the memory another one."""
    functional = view_of(operator)

    def rule(level: Batching, *args: Any) -> Any:
        if functional is None or not level.is_batched(args[0]):
            raise RuntimeError(
                f"vmap: {operator.name} changes the memory of a tensor, which is not possible under vmap"
            )
        outer = active_modes()
        try:  # (Note [Interrupted blocks])
            set_modes(level.within())
            result = functional(*args)
        finally:
            set_modes(outer)
        array = args[0].array
        array.value, array.dim = value_of(result), result.array.dim
        return args[0]

    return rule
