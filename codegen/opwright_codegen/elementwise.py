"""Which formulas are proven elementwise: whatever arrays they are given, NumPy's answer is new memory of the shape that
the arrays broadcast to, and each element of it depends on theirs at its own place.

Ufuncs of one output and Python's arithmetic are, over arrays and numbers. Anything else may be, or may not.
"""

from __future__ import annotations

from collections.abc import Collection

from opwright_codegen.array_ufuncs import UFUNCS
from opwright_codegen.formula_ast import (
    Attribute,
    Binary,
    Call,
    Comparison,
    Constant,
    Formula,
    Kind,
    Reference,
    Unary,
    children,
)

__all__ = ["TRUTHS", "is_elementwise", "keeps_dtype"]

_UFUNCS = UFUNCS.keys() - {"matmul"}
_ARITHMETIC = frozenset(("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"))

# Ufuncs whose result is bool, whatever their operands are.
TRUTHS = frozenset(
    (
        "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
        "logical_xor", "logical_not", "isnan", "isfinite", "isinf", "signbit",
    )
)  # fmt: skip
# Ufuncs whose result has the dtype of their operands, whatever it is; on floats most others keep it too.
_KEEPING = frozenset(
    (
        "add", "subtract", "multiply", "maximum", "minimum", "negative", "bitwise_and", "bitwise_or", "bitwise_xor",
        "invert",
    )
)  # fmt: skip


def is_elementwise(formula: Formula, arrays: Collection[str], numbers: Collection[str]) -> bool:
    """Whether the formula is proven elementwise in the arguments `arrays`. `numbers` are Python numbers, which stand
    beside an array: what two of them give by themselves, Python and NumPy compute otherwise."""
    operands = _operands(formula)
    if operands is None:
        return False
    is_array = [_is_argument(operand, arrays) or is_elementwise(operand, arrays, numbers) for operand in operands]
    return any(is_array) and all(
        known or _is_argument(operand, numbers) or _is_number(operand)
        for known, operand in zip(is_array, operands, strict=True)
    )


def keeps_dtype(formula: Formula, kinds: str) -> bool:
    """Whether an elementwise formula gives arrays of one dtype an answer of that dtype, where it is of these kinds.
    Numbers among the arguments are taken to be of the kind."""
    match formula:
        case Call(Attribute(Reference(Kind.MODULE), name), operands) if name in _KEEPING:
            return all(_is_kept(each, kinds) for each in operands)
        case _:
            return False


def _operands(formula: Formula) -> tuple[Formula, ...] | None:
    """What an elementwise operation is over; None for a formula that is none."""
    match formula:
        case Call(Attribute(Reference(Kind.MODULE), name), operands, ()) if name in _UFUNCS:
            return operands if len(operands) == UFUNCS[name] else None
        case Binary(operator) if operator in _ARITHMETIC:
            return children(formula)
        case Unary("-" | "~") | Comparison(_, (_,)):
            return children(formula)
        case _:
            return None


def _is_argument(formula: Formula, names: Collection[str]) -> bool:
    return isinstance(formula, Reference) and formula.kind is Kind.ARGUMENT and formula.name in names


def _is_number(formula: Formula) -> bool:
    match formula:
        case Constant(value):
            return isinstance(value, int | float | complex)
        case Unary("-", operand):
            return _is_number(operand)
        case _:
            return isinstance(formula, Reference) and formula.kind is Kind.CONSTANT


def _is_kept(operand: Formula, kinds: str) -> bool:
    """Whether an operand does not change the dtype of the arrays beside it, if that is of one of the kinds: one of
    them, or a number."""
    match operand:
        case Constant(bool()):
            return True
        case Constant(int()):
            return "b" not in kinds
        case Constant(complex()):
            return set(kinds) <= set("c")
        case Unary("-", number):
            return _is_number(number) and _is_kept(number, kinds) and "b" not in kinds
        case Constant() | Reference(Kind.CONSTANT):
            return set(kinds) <= set("fc")
        case _:
            return isinstance(operand, Reference)
