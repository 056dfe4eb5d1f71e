"""The family of an operator that is defined at run time, from the rule of its `meta` and the roles of its parameters.

The generator does the same for schema files (`opwright_codegen.bindings.batches`): a test holds the two together.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import opwright.arrays.annotations as known
from opwright.batching.along import Along, Everything
from opwright.batching.families import Elementwise
from opwright.batching.leading import Folded, Leading
from opwright.batching.products import Reducing
from opwright.batching.tables import Family

__all__ = ["family_of"]

_ROLES: Final = frozenset(known.__all__) - {"DtypeKinds", "Scalar"}
_NAMES: Final = {id(getattr(known, name)): name for name in _ROLES}
_WORD: Final = re.compile(r"\b\w+\b")
_LEADING: Final = {"Vectors": 1, "Matrices": 2, "Channels": 3}
_FOLDED: Final = {"Images": 3, "Columns": 2, "Batches": 2}


def family_of(
    rule: Callable[..., Any], places: Mapping[str, int | Sequence[int]], constants: Mapping[str, object] | None = None
) -> Family | None:
    """Return the family of an operator whose `meta` calls this rule; None where the rule says nothing of it.

    `places`: by parameter of the rule, the position of the operator's argument that is passed for it (of several, for
    `*operands`); arguments that are numbers are left out where the parameter is an operand. `constants`: what else is
    passed.
    """
    roles, may_be_none = _roles_of(rule)
    positions: list[tuple[str, int]] = []
    for name in roles:
        given = places.get(name, ())
        positions += [(roles[name], each) for each in ((given,) if isinstance(given, int) else given)]
    passed = {roles[name]: value for name, value in (constants or {}).items() if name in roles}
    return _family(positions, passed, may_be_none)


def _roles_of(rule: Callable[..., Any]) -> tuple[dict[str, str], bool]:
    """Return the roles of parameters, and whether dimensions may be None."""
    roles, may_be_none = {}, False
    for name, parameter in inspect.signature(rule).parameters.items():
        words = _words(parameter.annotation)
        role = next((word for word in words if word in _ROLES), None)
        if role is not None:
            roles[name] = role
            may_be_none |= role in ("Dim", "Dims") and "None" in words
    return roles, may_be_none


def _words(annotation: Any) -> list[str]:
    if isinstance(annotation, str):
        return _WORD.findall(annotation)
    if id(annotation) in _NAMES:
        return [_NAMES[id(annotation)]]
    parts = getattr(annotation, "__args__", ())
    return [word for part in parts for word in _words(part)] or [
        getattr(annotation, "__name__", "").replace("Type", "")
    ]


# The same text stands in `opwright_codegen.bindings.batches`.


def _family(positions: Sequence[tuple[str, int]], constants: Mapping[str, object], may_be_none: bool) -> Family | None:
    def of(*names: str) -> tuple[int, ...]:
        return tuple([position for role, position in positions if role in names])

    if operands := of("Elementwise", "Mask", "Target"):
        onto_first = bool(of("Target"))
        if reduction := of("Reduction"):
            return Reducing(*operands, reduction=reduction[0], onto_first=onto_first)
        return Elementwise(*operands, masks=of("Mask"), onto_first=onto_first)
    if operands := of("Along"):
        dims, new, size = of("Dim", "Dims"), of("NewDim"), of("Size")
        if not dims and not new and not size:
            return Everything(*operands)
        is_all = may_be_none and bool(constants.get("EmptyIsAll", True))
        return Along(*operands, dim=dims, new=new, size=size, empty_is_all=is_all)
    text = constants.get("CoreDimensions")
    if (cores := of("Cores")) and isinstance(text, str) and constants.get("Batched", True) is True:
        return Leading(*zip(cores, _counts(text), strict=True))
    if leading := [(position, _LEADING[role]) for role, position in positions if role in _LEADING]:
        return Leading(*leading)
    if folded := [(position, _FOLDED[role]) for role, position in positions if role in _FOLDED]:
        spatial = constants.get("Spatial")
        core = spatial + 1 if isinstance(spatial, int) else folded[0][1]
        return Folded(*[position for position, _ in folded], core=core)
    return None


def _counts(signature: str) -> list[int]:
    """Return the number of dimensions of each operand, of `(m,k),(k,n)->(m,n)`."""
    groups = signature.replace(" ", "").partition("->")[0].strip("()").split("),(")
    return [len([name for name in group.split(",") if name]) for group in groups]
