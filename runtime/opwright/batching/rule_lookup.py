"""The rule that handles an operator, and the order in which rules are looked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opwright.batching.batching import Batching
from opwright.batching.families import Elementwise
from opwright.batching.formulas import family_by_formula
from opwright.batching.inplace_views import inplace_view_rule
from opwright.batching.loop import looping
from opwright.batching.randomness import is_drawing, is_random, random_rule
from opwright.batching.refused import refusal, refusal_of_out
from opwright.batching.registered import registered_rule
from opwright.batching.tables import GENERATED, REGISTERED, BatchRule, Family
from opwright.dimensions.declared import Dimensions
from opwright.inspection.kernel_handles import COMPOSITES, handle_of
from opwright.levels.inside import InsideArray
from opwright.levels.interpreter import Handler
from opwright.levels.mode_kernels import tensor_positions
from opwright_core.keys import DispatchKey
from opwright_core.state import active_modes, set_modes

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["handler_of", "kind_of_rule"]


def handler_of(operator: Operator) -> Handler:
    """Return what handles an operator's calls: its rule where an argument is batched, else one call for all samples.

    Rules are, in this order: a kernel registered at the key Batched; the rule that a user registered; an error for out
    variants; for random operators what `randomness` says; that of the family that the generated package names; an error
    for operators whose results differ from sample to sample; what the operator is composed of; a loop.
    """
    kernel = handle_of(operator, DispatchKey.Batched)
    if kernel is not None:
        return _at_level(kernel)
    load = GENERATED.find_unloaded(operator.name)
    if load is not None:
        load()
    if (given := REGISTERED.find(operator.name)) is not None:
        return _by_rule(operator, registered_rule(operator, given))
    if (refused := refusal_of_out(operator)) is not None:
        return _by_rule(operator, refused)
    if is_random(operator):
        return _by_rule(operator, random_rule(operator), is_always=True)
    if "inplace_view" in operator.tags:
        return _by_rule(operator, inplace_view_rule(operator))
    if (family := _family_of(operator)) is not None:
        quick = family.handler_for(operator) if isinstance(family, Elementwise) else None
        return quick or _by_rule(operator, family.rule_of(operator))
    if (refused := refusal(operator)) is not None:
        return _by_rule(operator, refused)
    for key in COMPOSITES:
        if (decomposition := handle_of(operator, key)) is not None:
            return _by_rule(operator, _at_level(decomposition.call), is_always=is_drawing(operator))
    return _by_rule(operator, looping(operator))


def _family_of(operator: Operator) -> Family | None:
    """Return the family that the generated package names, or that a formula given at run time tells."""
    return _declared(operator) or family_by_formula(operator)


def _declared(operator: Operator) -> Family | None:
    found: Any = GENERATED.find(operator.name)
    family: Family | None = found.batch if isinstance(found, Dimensions) else found
    return family


def kind_of_rule(operator: Operator) -> str:
    """Return where the rule of an operator comes from: `registered`, `random`, `inplace_view`, the name of its family,
    `refused`, `decomposed`, `loop`."""
    if (load := GENERATED.find_unloaded(operator.name)) is not None:
        load()
    if handle_of(operator, DispatchKey.Batched) is not None or REGISTERED.find(operator.name) is not None:
        return "registered"
    if refusal_of_out(operator) is not None:
        return "refused"
    if is_random(operator):
        return "random"
    if "inplace_view" in operator.tags:
        return "inplace_view"
    if (family := _declared(operator)) is not None:
        return type(family).__name__
    if refusal(operator) is not None:
        return "refused"
    return "decomposed" if any(handle_of(operator, key) is not None for key in COMPOSITES) else "loop"


def _by_rule(operator: Operator, rule: BatchRule, *, is_always: bool = False) -> Handler:
    plain, lists = tensor_positions(operator)

    def handler(level: Batching, *args: Any) -> Any:
        for position in plain:
            value = args[position]
            if value is not None and type(array := value.array) is InsideArray and array.level is level:
                return rule(level, *args)
        if is_always or level.any_batched([args[position] for position in lists]):
            return rule(level, *args)
        return operator.call(*args)

    return handler


def _at_level(function: Callable[..., Any]) -> BatchRule:
    """Return the rule that calls a function of the operator's arguments, whose operators come to the level."""

    def rule(level: Batching, *args: Any) -> Any:
        outer = active_modes()
        try:  # (Note [Interrupted blocks])
            set_modes(level.within())
            return function(*args)
        finally:
            set_modes(outer)

    return rule
