"""Literals of formulas as values of arguments."""

from __future__ import annotations

from typing import Final

from opwright_codegen.formula.ast import Constant, Formula, Unary
from opwright_codegen.schema.element_rules import fits
from opwright_codegen.schema.types import BaseType, Type

__all__ = ["is_literal_of"]

_NAMED: Final = tuple(map(BaseType, ("ScalarType", "Layout", "MemoryFormat", "QScheme", "int")))  # named by a text
_FLOATS: Final = tuple(map(BaseType, ("float", "SymFloat", "complex")))


def is_literal_of(value: Formula, type: Type) -> bool:
    """Return whether a literal is a value of a type, as calls take it: an int for a float, one value for a list, a text
    for a name."""
    match value:
        case Unary("-", Constant(int() | float() | complex() as literal)):
            pass
        case Constant(literal) if literal is not ...:
            pass
        case _:
            return False
    if literal is None:
        return type.is_optional
    base = type.base()
    if isinstance(literal, str) or base not in _FLOATS:
        return fits(literal, base) or (isinstance(literal, str) and base in _NAMED)
    return fits(complex(literal), BaseType("complex"))
