"""The texts of `doc:`: what one overload says holds for those of its name that say nothing, and for its variants."""

from __future__ import annotations

from collections.abc import Mapping

from opwright_codegen.read.model import Operator
from opwright_codegen.records import replace
from opwright_codegen.schema.model import SchemaKind

__all__ = ["COPIES", "IN_PLACE", "in_place_doc", "inherit_docs", "tell_deprecations"]

COPIES = "The result is a copy, not a view."
IN_PLACE = "The result is written to `self`, which is returned."

_COPY = "_copy"


def inherit_docs(operators: Mapping[str, Operator]) -> dict[str, Operator]:
    """Return the operators, each with a text where an overload of its name has one, or the operator that it does in
    place or with a copy."""
    said: dict[tuple[str, str], str] = {}
    for operator in operators.values():
        if operator.doc:
            said.setdefault((operator.namespace, operator.schema.name.base), operator.doc)
    return {
        name: operator if operator.doc or not said else replace(operator, doc=_inherited(operator, said))
        for name, operator in operators.items()
    }


def tell_deprecations(operators: Mapping[str, Operator]) -> dict[str, Operator]:
    """Return the operators, those that are deprecated with a sentence that says so. Overloads that serve former calls
    say nothing: the text is that of the present call."""
    return {
        name: operator
        if operator.deprecated is None or operator.serves is not None
        else replace(operator, doc=_paragraphs(operator.doc, f"Deprecated {operator.deprecated}".rstrip() + "."))
        for name, operator in operators.items()
    }


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _inherited(operator: Operator, said: Mapping[tuple[str, str], str]) -> str:
    namespace, base = operator.namespace, operator.schema.name.base
    if (namespace, base) in said:
        return said[namespace, base]
    if operator.kind is SchemaKind.INPLACE:
        return in_place_doc(said.get((namespace, base.removesuffix("_")), ""))
    if "view_copy" in operator.tags and (text := said.get((namespace, base.removesuffix(_COPY)))):
        return _followed(text, COPIES)
    return ""


def in_place_doc(text: str) -> str:
    """Return the text of an operator that does in place what another does."""
    return _followed(text, IN_PLACE) if text else ""


def _followed(text: str, sentence: str) -> str:
    return (" " if "\n" not in text else "\n\n").join((text, sentence))
