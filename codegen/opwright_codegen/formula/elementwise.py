"""The proof that formulas are elementwise: whatever arrays they are given, NumPy's result is new memory of the shape
that the arrays broadcast to, and each element of it depends on theirs at its own position.

Ufuncs of one output and Python's arithmetic are, over arrays and numbers, and choices between such. Anything else may
be, or may not.
"""

from __future__ import annotations

from collections.abc import Collection

from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    Kind,
    Reference,
    Unary,
    children,
    walk,
)
from opwright_codegen.formula.ufuncs import UFUNCS
from opwright_codegen.records import dataclass

__all__ = [
    "TRUTHS", "Names", "gives_kind", "is_elementwise", "is_of_operands", "keeps_dtype", "operands_broadcast",
]  # fmt: skip

# The number of operands of each function; `matmul` is a ufunc by name alone.
_FUNCTIONS = {name: count for name, count in UFUNCS.items() if name != "matmul"} | {"where": 3, "clip": 3}
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
# Ufuncs whose result is real, whatever their operands are.
_REAL = frozenset(("abs", "absolute"))


@dataclass(frozen=True, slots=True)
class Names:
    """The arguments that a kernel's formula may be over: `arrays`; `scalars`, operands that the plan casts, Python
    numbers in a fast shim; and `numbers`, which every shim passes as they are."""

    arrays: frozenset[str]
    scalars: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()


def is_elementwise(formula: Formula, names: Names) -> bool:
    """Whether the formula is proven elementwise. Scalars and numbers stand beside an array: what two scalars give by
    themselves, Python and NumPy compute otherwise."""
    match formula:
        case Conditional(test, then, otherwise):
            return _is_number(test, names) and is_elementwise(then, names) and is_elementwise(otherwise, names)
    operands = _operands(formula)
    if operands is None:
        return False
    is_array = [_is_argument(operand, names.arrays) or is_elementwise(operand, names) for operand in operands]
    return any(is_array) and all(
        known or _is_argument(operand, names.scalars) or _is_number(operand, names)
        for known, operand in zip(is_array, operands, strict=True)
    )


def keeps_dtype(formula: Formula, names: Names, kinds: str) -> bool:
    """Whether an elementwise formula gives arrays of one dtype a result of that dtype, where it is of these kinds.
    Scalars are real, and of the kind."""
    match formula:
        case Call(Attribute(Reference(Kind.MODULE), name), operands) if name in _KEEPING:
            return all(
                _is_argument(each, names.arrays | names.scalars) or _keeps_dtype(each, kinds) for each in operands
            )
        case _:
            return False


def operands_broadcast(formula: Formula, writers: Collection[str] = ()) -> frozenset[str]:
    """Return the arguments that the result is surely broadcast to, whatever else it is made of: a ufunc that writes
    into an array of their common shape fills it with a result of that shape, and repeats none that is smaller. So do
    the functions `writers`, which take `out`."""
    match formula:
        case Reference(Kind.ARGUMENT, name):
            return frozenset((name,))
        case Conditional(_, then, otherwise):
            return operands_broadcast(then, writers) & operands_broadcast(otherwise, writers)
        case Call(Reference(Kind.FUNCTION, name), operands) if name in writers:
            return frozenset().union(*map(operands_broadcast, operands))
        case _:
            return frozenset().union(*map(operands_broadcast, _operands(formula) or ()))


def is_of_operands(formula: Formula, names: Names, writers: Collection[str] = ()) -> bool:
    """Whether a ufunc, or a function of `writers`, is called with nothing but these arrays, what ufuncs make of them,
    and numbers beside them: of unsigned integers its result is then of no integers that have a sign."""
    match formula:
        case Conditional(_, then, otherwise):
            return is_of_operands(then, names, writers) and is_of_operands(otherwise, names, writers)
        case Call(Reference(Kind.FUNCTION, name), operands) if name in writers:  # (`xp` comes first)
            given = [each for each in operands if not (isinstance(each, Reference) and each.kind is Kind.MODULE)]
            return _are_of_dtype(given, names)
        case _:
            return _are_of_dtype(_operands(formula) or (), names)


def gives_kind(formula: Formula, names: Names, kind: str, wanted: str, writers: Collection[str] = ()) -> bool:
    """Whether ufuncs of operands of one kind of dtype give a result of the `wanted` kind, or NumPy refuses to write it
    to an array of that: a lower kind is cast without a word. Functions of `writers` know what they write."""
    match formula:
        case Conditional(_, then, otherwise):
            return all(gives_kind(each, names, kind, wanted, writers) for each in (then, otherwise))
        case Call(Reference(Kind.FUNCTION, name)) if name in writers:
            return True
        case Call(Attribute(Reference(Kind.MODULE), name)) if name in TRUTHS:
            return wanted == "b"
        case Call(Attribute(Reference(Kind.MODULE), name)) if name in _REAL:
            kind, formula = "f" if kind == "c" else kind, formula.arguments[0]
    has_real = kind == "c" and any(_is_real(each) for each in walk(formula))
    is_argument = isinstance(formula, Reference)
    is_kept = is_argument or any(_is_of_dtype(each, names) for each in _operands(formula) or ())
    return kind == wanted and is_kept and not has_real


def _is_real(formula: Formula) -> bool:
    match formula:
        case Call(Attribute(Reference(Kind.MODULE), name)):
            return name in _REAL
        case _:
            return False


def _are_of_dtype(operands: Collection[Formula], names: Names) -> bool:
    arrays = [each for each in operands if not _is_number(each, names)]
    return bool(arrays) and all(_is_of_dtype(each, names) for each in arrays)


def _is_of_dtype(formula: Formula, names: Names) -> bool:
    """Whether an operand has the dtype of these arrays: beside a number truths are int64, and so are choices of two."""
    match formula:
        case Reference():
            return _is_argument(formula, names.arrays | names.scalars)
        case Conditional(_, then, otherwise):
            return _is_of_dtype(then, names) and _is_of_dtype(otherwise, names)
        case Comparison():
            return False
        case Call(Attribute(Reference(Kind.MODULE), name)) if name in TRUTHS or name == "where":
            return False
        case _:
            return _are_of_dtype(_operands(formula) or (), names)


def _operands(formula: Formula) -> tuple[Formula, ...] | None:
    """Return what an elementwise operation is over; None for a formula that is none."""
    match formula:
        case Call(Attribute(Reference(Kind.MODULE), name), operands, ()):
            return operands if len(operands) == _FUNCTIONS.get(name) else None
        case Binary(operator) if operator in _ARITHMETIC:
            return children(formula)
        case Unary("-" | "~") | Comparison(_, (_,)):
            return children(formula)
        case _:
            return None


def _is_argument(formula: Formula, names: Collection[str]) -> bool:
    return isinstance(formula, Reference) and formula.kind is Kind.ARGUMENT and formula.name in names


def _is_number(formula: Formula, names: Names) -> bool:
    """Whether the formula is one over Python's numbers (or words) alone."""
    match formula:
        case Constant():
            return True
        case Reference(kind):
            return kind is Kind.CONSTANT or _is_argument(formula, names.numbers)
        case Binary() | Unary() | Comparison() | Boolean() | Conditional():
            return all(_is_number(part, names) for part in children(formula))
        case _:
            return False


def _keeps_dtype(number: Formula, kinds: str) -> bool:
    """Whether a constant does not change the dtype of an array beside it, if that is of one of the kinds."""
    match number:
        case Constant(bool()):
            return True
        case Constant(int()):
            return "b" not in kinds
        case Constant(float()) | Reference(Kind.CONSTANT):
            return set(kinds) <= set("fc")
        case Unary("-", operand):
            return "b" not in kinds and _keeps_dtype(operand, kinds)
        case _:
            return False
