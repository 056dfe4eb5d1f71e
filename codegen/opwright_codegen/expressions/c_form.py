"""Expressions as text in C (and CUDA), for one dtype: every function is `NAME_SUFFIX` of `opwright/elements.h`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from opwright_codegen.expressions.expression import Expression
from opwright_codegen.expressions.typed import (
    Applied,
    Argument,
    Cast,
    Node,
    Number,
    Sort,
    literal_of,
    nodes,
    numbers_of,
)
from opwright_codegen.formula.ast import Constant, Formula
from opwright_codegen.records import dataclass

__all__ = ["CTypes", "c_form", "c_parts", "fits", "is_in_c", "may_refuse", "types_of"]


@dataclass(frozen=True, slots=True)
class CTypes:
    """A dtype in C: how names of it end, what is computed in, and the range of its integers."""

    suffix: str
    type: str
    bits: int = 0
    is_signed: bool = True
    part: str = ""  # what the two parts of a complex number are

    @property
    def is_complex(self) -> bool:
        """Whether it has two parts."""
        return bool(self.part)

    @property
    def is_integer(self) -> bool:
        """Whether it has a range."""
        return self.bits > 0

    @property
    def is_float(self) -> bool:
        """Whether C has its signs between operands, for real numbers."""
        return self.type in ("float", "double")


# What each dtype is computed in; half and bfloat16 in float.
_TYPES: Final = {
    "bool": CTypes("b8", "uint8_t"),
    **{f"int{n}": CTypes(f"i{n}", f"int{n}_t", n) for n in (8, 16, 32, 64)},
    **{f"uint{n}": CTypes(f"u{n}", f"uint{n}_t", n, False) for n in (8, 16, 32, 64)},
    "float16": CTypes("f32", "float"), "bfloat16": CTypes("f32", "float"), "float32": CTypes("f32", "float"),
    "float64": CTypes("f64", "double"),
    "complex64": CTypes("c64", "parts_c64", part="float"),
    "complex128": CTypes("c128", "parts_c128", part="double"),
}  # fmt: skip
# What C says between operands, for floats; integers and bools have functions, which wrap around, and so have complex
# numbers, which are computed as NumPy computes them.
_SIGNS: Final = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_COMPARISONS: Final = {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip
_BITS: Final = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}


def types_of(dtype: str) -> CTypes:
    """Return what a dtype is in C."""
    return _TYPES[dtype]


def is_in_c(dtype: str) -> bool:
    """Whether loops are generated for a dtype."""
    return dtype in _TYPES


def fits(expression: Expression, dtype: str) -> bool:
    """Whether every number in the expression is one of the dtype: NumPy refuses others, when it is called."""
    types = _TYPES[dtype]
    return all(_fits(node, types) for node in _numbers(expression.root))


def may_refuse(expression: Expression, dtype: str) -> bool:
    """Whether a loop may refuse an element, and says so in `bad`: a negative exponent of integers."""
    parts = (part for part in nodes(expression.root) if isinstance(part, Applied))
    powers = (part for part in parts if part.function.name == "power")
    return _TYPES[dtype].is_integer and any(_may_be_negative(part.operands[1]) for part in powers)


def _may_be_negative(exponent: Node) -> bool:
    value = literal_of(exponent.formula) if isinstance(exponent, Number) else None
    return value is None or value < 0


def _fits(number: Number, types: CTypes) -> bool:
    match number.formula:
        case Constant(int() as value) if types.is_integer:
            low = -(1 << (types.bits - 1)) if types.is_signed else 0
            return low <= value < low + (1 << types.bits)
        case _:
            return True


def _numbers(node: Node) -> list[Number]:
    match node:
        case Number():
            return [node]
        case Cast(operand):
            return _numbers(operand)
        case Applied(_, operands):
            return [number for operand in operands for number in _numbers(operand)]
        case _:
            return []


def c_form(expression: Expression, dtype: str) -> str:
    """Return the expression over `x0`, `x1`, … (tensors, in the order of the schema) and `s0`, `s1`, … (numbers)."""
    writer = _Writer(_TYPES[dtype], expression.tensors, numbers_of(expression.root))
    return writer.text(expression.root)


def c_parts(
    roots: Sequence[Node], tensors: Sequence[str], numbers: Sequence[Formula], dtype: str
) -> tuple[list[str], list[str]]:
    """Return statements that compute what several trees are made of, common parts once, and the text of each tree."""
    writer = _Shared(_TYPES[dtype], tensors, numbers)
    texts = [writer.text(root) for root in roots]
    return writer.statements, texts


class _Writer:
    def __init__(self, types: CTypes, tensors: Sequence[str], numbers: Sequence[Formula]) -> None:
        self._types = types
        self._tensors = tensors
        self._numbers = numbers

    def text(self, node: Node) -> str:
        match node:
            case Argument(name):
                return f"x{self._tensors.index(name)}"
            case Number(formula):
                return self._number(formula)
            case Cast(operand) if operand.sort is Sort.TRUTH and self._types.is_complex:
                return f"make_{self._types.suffix}({self.text(operand)}, 0)"
            case Cast(operand) if operand.sort is Sort.TRUTH:
                return f"(({self._types.type}){self.text(operand)})"
            case Cast(operand):
                return self.text(operand)
            case Applied(function, operands):
                return self._applied(function.name, [*operands])

    def _applied(self, name: str, operands: Sequence[Node]) -> str:
        texts = [self.text(operand) for operand in operands]
        is_of_truths = all(operand.sort is Sort.TRUTH for operand in operands)
        if name == "where" and not any("&bad" in text for text in texts):  # (NumPy computes what is not chosen, too)
            return f"({texts[0]} ? {texts[1]} : {texts[2]})"
        if name in _COMPARISONS and not self._types.is_complex:
            return f"({texts[0]} {_COMPARISONS[name]} {texts[1]})"
        if name in _BITS and (is_of_truths or operands):
            return f"({self._bit(operands[0], texts[0])} {_BITS[name]} {self._bit(operands[1], texts[1])})"
        if name == "invert" and is_of_truths:
            return f"(!{texts[0]})"
        if name in _SIGNS and self._types.is_float:
            return f"({texts[0]} {_SIGNS[name]} {texts[1]})"
        more = ["&bad"] if name == "power" and self._types.is_integer else []
        return f"{name}_{self._types.suffix}({', '.join((*texts, *more))})"

    def _bit(self, operand: Node, text: str) -> str:
        return f"({text} != 0)" if operand.sort is Sort.NUMBER and self._types.suffix == "b8" else text

    def _number(self, formula: Formula) -> str:
        value = literal_of(formula)
        return f"s{self._numbers.index(formula)}" if value is None else self._literal(value)

    def _literal(self, value: float) -> str:
        if self._types.is_complex:
            return f"make_{self._types.suffix}({_real(float(value), self._types.part)}, 0)"
        kind = self._types.type
        if self._types.is_integer:
            return f"(({kind}){_integer(int(value), self._types)})"
        if self._types.suffix == "b8":
            return str(int(bool(value)))
        return _real(float(value), kind)


class _Shared(_Writer):
    """A writer that holds what functions give: `t0`, `t1`, …, each computed once."""

    def __init__(self, types: CTypes, tensors: Sequence[str], numbers: Sequence[Formula]) -> None:
        super().__init__(types, tensors, numbers)
        self._held: dict[str, str] = {}
        self.statements: list[str] = []

    def text(self, node: Node) -> str:
        found = super().text(node)
        if not isinstance(node, Applied):
            return found
        if found not in self._held:
            self._held[found] = f"t{len(self._held)}"
            kind = "int" if node.sort is Sort.TRUTH else self._types.type
            self.statements.append(f"const {kind} {self._held[found]} = {_bare(found)};")
        return self._held[found]


def _bare(text: str) -> str:
    """Return a text without the parentheses around it, of what has no others."""
    return text[1:-1] if text.startswith("(") and not set("()") & set(text[1:-1]) else text


def _real(value: float, kind: str) -> str:
    if math.isnan(value):
        return f"(({kind})NAN)"
    if math.isinf(value):
        return f"(({kind}){'-' if value < 0 else ''}INFINITY)"
    return f"(({kind}){value.hex()})"


def _integer(value: int, types: CTypes) -> str:
    if not types.is_signed:
        return f"{value}u" if value < 2**32 else f"{value}ull"
    if value == -(2**63):
        return "(-9223372036854775807ll - 1)"
    return str(value) if abs(value) < 2**31 else f"{value}ll"
