"""The family that says how blocks of results follow from blocks of arguments: what `dims` says, or that of vmap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.formula.ast import Call, Conditional, Constant
from opwright_codegen.kernel_choices.bind import Binding
from opwright_codegen.kernel_choices.family_calls import Family, family_of_text
from opwright_codegen.kernel_choices.metas import Plans
from opwright_codegen.read.model import OperatorSet
from opwright_codegen.records import replace

__all__ = ["blocks"]

_COMBINING: Final = ("Along", "Everything")


def blocks(operators: OperatorSet, bindings: Sequence[Binding], families: Mapping[str, Family]) -> dict[str, Family]:
    """Return the family of each operator that has one, by qualified name. Raises SchemaErrors for a wrong `dims`."""
    errors = Errors()
    written: dict[str, Family] = {}
    for operator in operators.operators.values():
        dims = operator.dims
        if dims is not None and (text := dims.cutting) is not None:
            try:
                found = family_of_text(text, operator.schema)
            except SchemaError as error:
                errors.add(error)
                continue
            if text is not dims.batching or "combines" in dict(found.keywords):
                written[operator.name] = found
    errors.raise_if_any()
    cut = dict(families)
    for binding in bindings:
        name = binding.view.name
        family = families.get(name)
        if family is not None and family.name in _COMBINING and (way := _combines(binding, family)):
            cut[name] = replace(family, keywords=(*family.keywords, ("combines", way)))
    return cut | written


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
