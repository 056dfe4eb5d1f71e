"""The formulas of nodes as text, for the compiled core: those that are arithmetic and calls over what a node keeps.

`apply` of a node says the same in Python. `opwright.autograd.node_formulas` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opwright_codegen.formula.ast import Attribute, Binary, Call, Constant, Formula, Kind, Reference, Unary, Verbatim
from opwright_codegen.formula.emit import Spelling, emit

__all__ = ["formula_texts"]

_OWN = frozenset((Kind.ARGUMENT, Kind.GRAD, Kind.RESULT, Kind.SAVED))
_LONGEST = 100
_TRANSPOSED = frozenset(("mH", "mT"))
_ARITHMETIC = frozenset(("+", "-", "*", "/"))


def formula_texts(formulas: Iterator[tuple[Formula, Formula]], slots: Mapping[str, str]) -> tuple[str, ...]:
    """Return the text of each formula, which is given as it was read and as the module spells it; empty for one that
    the core cannot compute. `slots` are the names of what is kept. Empty where that holds of all."""
    spelling = Spelling(arguments=slots)
    texts = [emit(spelled, spelling) if _is_simple(read, slots) else "" for read, spelled in formulas]
    # What fills a line calls a function of many arguments, beside which a call of `apply` is nothing.
    found = tuple(text if len(text) <= _LONGEST else "" for text in texts)
    return found if any(found) else ()


def _is_simple(formula: Formula, slots: Mapping[str, str]) -> bool:
    """Whether a formula is arithmetic, calls by position, and numbers."""
    match formula:
        case Reference(Kind.GRAD, name):
            return name == "grad"
        case Reference(kind, name):
            return name in slots if kind in _OWN else kind is Kind.CONSTANT
        case Constant(value):
            return isinstance(value, int | float)
        case Unary("-", operand):
            return _is_simple(operand, slots)
        case Binary(operator, left, right):
            return operator in _ARITHMETIC and _is_simple(left, slots) and _is_simple(right, slots)
        case Attribute(value, name):
            return name in _TRANSPOSED and _is_simple(value, slots)
        case Call(Attribute(value, _), arguments, ()):
            return _is_simple(value, slots) and all(_is_simple(each, slots) for each in arguments)
        case Call(Reference(Kind.FUNCTION | Kind.OPERATOR) | Verbatim(), arguments, ()):
            return all(_is_simple(each, slots) for each in arguments)
        case _:
            return False
