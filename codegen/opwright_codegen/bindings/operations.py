"""Operations of formulas for each element: arithmetic, and transcendental functions."""

from __future__ import annotations

from typing import Final

from opwright_codegen.expressions.numpy_form import template
from opwright_codegen.expressions.typed import Applied, Cast, Node
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


def operations_of_expression(node: Node) -> Count:
    """Return the operations of a `kernel`, a node at a time: what is made of numbers alone is computed once a call."""
    match node:
        case Applied(function, operands):
            own = (0, 1) if function.module else operations_of(template(function.array), is_array=("x", "y", "z"))
            assert own is not None, function.name
            return _sum([own, *[operations_of_expression(each) for each in operands]])
        case Cast(operand):
            return operations_of_expression(operand)
        case _:
            return 0, 0


def operations_of(formula: Formula, is_array: tuple[str, ...] = ()) -> Count | None:
    """Return the operations of a formula over arrays, None where it has others than those of elements.

    Of `… if … else …` those of the first are counted. `is_array` are names of arrays, beside arguments.
    """
    parts = [operations_of(each, is_array) for each in children(formula)]
    match formula:
        case Reference() | Name() | Constant() | Attribute():
            return 0, 0
        case Conditional(_, then, _):
            return operations_of(then, is_array)
        case Call(Attribute(Reference(Kind.MODULE, "xp") | Name("xp"), name), arguments):
            own = (0, 0) if name in _FREE else (0, 1) if name in TRANSCENDENTAL else (1, 0)
            if name not in UFUNCS and name not in _CHOICES and name not in _FREE:
                return None
            return _all([own, *[operations_of(each, is_array) for each in arguments]])
        case Call(Attribute(value, "astype")):
            return operations_of(value, is_array)
        case Binary(sign):
            return _all([((0, 1) if sign == "**" else (1, 0)) if _is_array(formula, is_array) else (0, 0), *parts])
        case Unary(sign):
            return _all([(int(sign != "+" and _is_array(formula, is_array)), 0), *parts])
        case Comparison(_, rest):
            return _all([(2 * len(rest) - 1 if _is_array(formula, is_array) else 0, 0), *parts])
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
    return _sum(known) if len(known) == len(parts) else None


def _sum(parts: list[Count]) -> Count:
    return sum([each[0] for each in parts]), sum([each[1] for each in parts])
