"""The family of an operator whose formula was given at run time (`custom_op(meta=...)`, `register_meta`)."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING

from opwright import rules
from opwright.batching.roles import family_of
from opwright.batching.tables import Family
from opwright.dispatch.meta_formulas import FORMULAS, Expression, RuleCall

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["family_by_formula"]


def family_by_formula(operator: Operator) -> Family | None:
    """Return the family that an operator's formula tells; None where it has none, or one that chooses between rules."""
    formula = FORMULAS.find(operator.name)
    if formula is None or formula.has_list or len(set(map(str, formula.calls))) != 1 or formula.calls[0] is None:
        return None
    call = formula.calls[0]
    names = operator.signature.names
    tensors = {names[each.position] for each in operator.signature.tensors}
    places: dict[str, list[int]] = {}
    constants: dict[str, object] = {}
    for name, is_several, given in _passed(call):
        if given.argument is None:
            constants[name] = _constant(given.text)
        elif not is_several or given.argument in tensors:
            places.setdefault(name, []).append(names.index(given.argument))
    return family_of(getattr(rules, call.rule), places, constants)


def _passed(call: RuleCall) -> list[tuple[str, bool, Expression]]:
    """Return what a rule is passed: its parameter, whether that takes any number, and the value."""
    parameters = inspect.signature(getattr(rules, call.rule)).parameters
    found: list[tuple[str, bool, Expression]] = []
    each = iter(call.positional)
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            found += [(name, True, value) for value in each]
        elif parameter.kind is not parameter.KEYWORD_ONLY and (value := next(each, None)) is not None:
            found.append((name, False, value))
    return found + [(name, False, value) for name, value in call.keywords]


def _constant(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except ValueError:
        return None  # an expression of arguments
