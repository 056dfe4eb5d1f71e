"""Declarations of an operator's dimensions: its family, a written rule, `linear`; else a reason for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from opwright.dimensions import families
from opwright.inspection.meta_formulas import FORMULAS
from opwright.metadata.tags import Tag
from opwright_core.dispatch.registry.rule_table import BATCHING

if TYPE_CHECKING:
    from opwright.dimensions.families import Family
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Declared", "Dimensions", "declared_of", "family_of_formula"]

_DEPENDS: Final = {Tag.dynamic_output_shape, Tag.data_dependent_output}
_OF_FORMULAS: Final = {
    each.__name__: each
    for each in (
        families.Along,
        families.Elementwise,
        families.Everything,
        families.Folded,
        families.Leading,
        families.Reducing,
    )
}


class Dimensions:
    """The dimensions of an operator of which more is declared than the family that batches it.

    `batch` is that family, None where it has none; `blocks` the one by which dimensions are cut, where it is another.
    `sharding` is a rule that names dimensions, or a path to a function `(shapes, values)` that returns such a text;
    `whole` a reason not to cut. `linear` has groups of positions, of tensors in which the operator is linear together.
    """

    __slots__ = ("batch", "blocks", "linear", "sharding", "whole")

    def __init__(
        self,
        batch: Any = None,
        *,
        blocks: Any = None,
        sharding: str = "",
        whole: str = "",
        linear: Sequence[Sequence[int]] = (),
    ) -> None:
        self.batch = batch
        self.blocks = blocks
        self.sharding = sharding
        self.whole = whole
        self.linear = tuple([tuple(group) for group in linear])


class Declared:
    """The facts that are known of an operator: a family, or a text, or else the reason why it is not cut."""

    __slots__ = ("family", "linear", "reason", "sharding")

    def __init__(self, family: Family | None, sharding: str, reason: str, linear: Any = ()) -> None:
        self.family = family
        self.sharding = sharding
        self.reason = reason
        self.linear = linear


def declared_of(operator: Operator) -> Declared:
    """Return what the declaration of an operator says: of a generated package, or a formula given at run time."""
    if (load := BATCHING.find_unloaded(operator.name)) is not None:
        load()
    found = BATCHING.find(operator.name)
    said = found if isinstance(found, Dimensions) else Dimensions(found)
    family = said.blocks or said.batch or family_of_formula(operator, _OF_FORMULAS)
    refused = said.whole or ("" if said.sharding else _refusal(operator))
    if refused or (isinstance(family, families.ByHand) and not said.sharding):
        return Declared(None, "", refused or families.ByHand.reason, said.linear)
    if family is None and not said.sharding:
        return Declared(None, "", _default(operator), said.linear)
    return Declared(family, said.sharding, "", said.linear)


def family_of_formula(operator: Operator, known: Any) -> Any:
    """Return the family, one of those `known` by name, that a formula given at run time tells; None for none."""
    formula = FORMULAS.find(operator.name)
    if formula is None or formula.family is None:
        return None
    name, arguments, keywords = formula.family
    return known[name](*arguments, **dict(keywords))


def _refusal(operator: Operator) -> str:
    """Return why an operator is not cut by its nature, "" where it may be."""
    tags = set(operator.tags)
    if not operator.signature.tensors:
        return "it has no tensors to cut"
    if Tag.nondeterministic_seeded in tags:
        return "it draws random numbers, and each part would draw the same ones"
    if _DEPENDS & tags:
        return "what its result looks like depends on data"
    return ""


def _default(operator: Operator) -> str:
    if any(str(key).partition(".")[2].startswith("Composite") for key in operator.registrations):
        return "it is composed of other operators, each of which has its own rule"
    return ""
