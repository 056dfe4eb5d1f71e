"""Operations of formulas for each element: arithmetic, and transcendental functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright_codegen.expressions.numpy_form import template
from opwright_codegen.expressions.typed import Applied, Node, nodes
from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    Kind,
    Name,
    Reference,
    Unary,
    children,
    walk,
)  # fmt: skip
from opwright_codegen.formula.ufuncs import UFUNCS

__all__ = ["TRANSCENDENTAL", "operations_of", "operations_of_expression"]

TRANSCENDENTAL: Final = frozenset((
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "cos", "cosh", "exp", "exp2",
    "expm1", "float_power", "hypot", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "power", "sin", "sinh",
    "sqrt", "tan", "tanh",
))  # fmt: skip
_FREE: Final = frozenset(("positive", "real", "imag", "conjugate", "asarray", "copy"))  # copies are no arithmetic
_CHOICES: Final = ("where", "clip")
Count = tuple[int, int]


def operations_of_expression(root: Node) -> Count:
    """Return the operations of a `kernel`, those of equal parts once: what is made of numbers alone is computed once a
    call."""
    functions = [each.function for each in {*nodes(root)} if isinstance(each, Applied)]
    counts = _all(
        [(0, 1) if each.module else operations_of(template(each.array), ("x", "y", "z")) for each in functions]
    )
    assert counts is not None, functions
    return counts


def operations_of(formula: Formula, is_array: tuple[str, ...] = ()) -> Count | None:
    """Return the operations of a formula over arrays, those of equal parts once; None where it has others than those of
    elements.

    Of `… if … else …` those of the first are counted. `is_array` are names of arrays, beside arguments.
    """
    return _all([_own_operations(each, is_array) for each in {*_computed(formula)}])


def _computed(formula: Formula) -> Iterator[Formula]:
    """Yield a formula and the parts that it computes with arrays."""
    match formula:
        case Conditional(_, then, _):
            yield from _computed(then)
            return
        case Call(Attribute(Reference(Kind.MODULE, "xp") | Name("xp")), arguments):
            parts = arguments
        case Call(Attribute(value, "astype")):
            parts = (value,)
        case Attribute():
            parts = ()
        case _:
            parts = children(formula)
    yield formula
    for part in parts:
        yield from _computed(part)


def _own_operations(formula: Formula, is_array: tuple[str, ...]) -> Count | None:
    """Return the operations of a formula without those of its parts, None where it is none of elements."""
    match formula:
        case Reference() | Name() | Constant() | Attribute() | Call(Attribute(_, "astype")):
            return 0, 0
        case Call(Attribute(Reference(Kind.MODULE, "xp") | Name("xp"), name)):
            if name not in UFUNCS and name not in _CHOICES and name not in _FREE:
                return None
            return (0, 0) if name in _FREE else (0, 1) if name in TRANSCENDENTAL else (1, 0)
        case Binary(sign):
            return (0, 0) if not _is_array(formula, is_array) else (0, 1) if sign == "**" else (1, 0)
        case Unary(sign):
            return int(sign != "+" and _is_array(formula, is_array)), 0
        case Comparison(_, rest):
            return 2 * len(rest) - 1 if _is_array(formula, is_array) else 0, 0
    return None


def _is_array(formula: Formula, is_array: tuple[str, ...]) -> bool:
    """Whether a formula has a part that is an array, as far as names tell."""
    return any(
        (isinstance(each, Name) and each.name in is_array)
        or (isinstance(each, Reference) and each.kind is Kind.ARGUMENT)
        for each in walk(formula)
    )


def _all(parts: list[Count | None]) -> Count | None:
    known = [each for each in parts if each is not None]
    return (sum([each[0] for each in known]), sum([each[1] for each in known])) if len(known) == len(parts) else None
