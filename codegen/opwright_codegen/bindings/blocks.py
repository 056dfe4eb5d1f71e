"""The family that says how blocks of results follow from blocks of arguments: what `blocks` says, or that of vmap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright_codegen.bindings.bind import Binding
from opwright_codegen.bindings.family_calls import FAMILIES, Families, Family, Form, family_call
from opwright_codegen.bindings.metas import Plans
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.formula.ast import Call, Conditional, Constant
from opwright_codegen.formula.parser import parse
from opwright_codegen.formula.resolve import Scope, resolve
from opwright_codegen.read.model import OperatorSet
from opwright_codegen.records import replace

__all__ = ["blocks"]

_WINDOWS: Final = ("dim", "size", "stride", "padding", "dilation", "before", "after", "whole")
# What `blocks` may call.
_FAMILIES: Final[Families] = {
    **FAMILIES,
    "along": replace(
        FAMILIES["along"],
        keywords={"dim": "numbers", "new": "numbers", "empty_is_all": "a flag", "combines": "a way"},
    ),
    "everything": replace(FAMILIES["everything"], keywords={"combines": "a way"}),
    "windows": Form(
        "Windows",
        "one tensor",
        dict.fromkeys(_WINDOWS, "window"),
        (("dim",), ("size", "before", "after")),
        "windows(self, dim=-1, before=radius, after=radius)",
    ),
}
_COMBINING: Final = ("Along", "Everything")


def blocks(operators: OperatorSet, bindings: Sequence[Binding], families: Mapping[str, Family]) -> dict[str, Family]:
    """Return the family of each operator that has one, by qualified name. Raises SchemaErrors for a wrong `blocks`."""
    errors = Errors()
    written: dict[str, Family] = {}
    for operator in operators.operators.values():
        if operator.blocks is not None:
            try:
                formula = resolve(parse(operator.blocks), Scope.for_batch(operator.schema, _FAMILIES))
                written[operator.name] = family_call(formula, operator.schema, operator.blocks, _FAMILIES, "blocks")
            except SchemaError as error:
                errors.add(error)
    errors.raise_if_any()
    found = dict(families)
    for binding in bindings:
        name = binding.view.name
        family = families.get(name)
        if family is not None and family.name in _COMBINING and (way := _combines(binding, family)):
            found[name] = replace(family, keywords=(*family.keywords, ("combines", way)))
    return found | written


def _combines(binding: Binding, family: Family) -> bool | str:
    """Return what the rule of `meta` says of results of parts: whether their result is that of the whole, or a word.

    A dimension that is a number there is no argument of the operator: its family reduces all, which parts do not.
    """
    if not isinstance(binding.meta, Plans):
        return False
    formula = binding.meta.formulas[0]
    while isinstance(formula, Conditional):
        formula = formula.then
    keywords = dict(formula.keywords) if isinstance(formula, Call) else {}
    if family.name == "Everything" and isinstance(formula, Call):
        dim = next(iter(formula.arguments[1:2]), keywords.get("dim"))
        if dim is not None and not (isinstance(dim, Constant) and dim.value is None):
            return False
    way = keywords.get("combines")
    return way.value if isinstance(way, Constant) and isinstance(way.value, bool | str) else False
