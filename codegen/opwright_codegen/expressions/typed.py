"""Expressions as typed trees: what each part gives, and what the whole asks of dtypes.

Note [Types in expressions]
An expression is computed in one dtype, to which its tensors are promoted: that of its values. A comparison gives a
truth, which counts as 0 or 1 among values. Numbers are weak: they take the dtype of the values beside them. What is
made of numbers alone is computed by Python, once a call. Divisions, transcendental functions and floats ask for floats:
integers are computed in the default dtype.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import Enum
from typing import Final

from opwright_codegen.expressions.functions import Function
from opwright_codegen.formula.ast import Constant, Formula, Kind, Reference, Unary
from opwright_codegen.records import dataclass, field
from opwright_codegen.source import Span

__all__ = ["Applied", "Argument", "Cast", "Node", "Number", "Sort", "literal_of", "nodes", "numbers_of"]

_CONSTANTS: Final = {"inf": math.inf, "nan": math.nan, "pi": math.pi}


class Sort(Enum):
    """The sorts of what parts of expressions give."""

    VALUE = "values"
    TRUTH = "bool"
    NUMBER = "a number"


@dataclass(frozen=True, slots=True)
class Argument:
    """A Tensor argument."""

    name: str
    span: Span | None = field(compare=False)
    sort: Sort = Sort.VALUE


@dataclass(frozen=True, slots=True)
class Number:
    """A part of numbers alone: a constant, or a formula that Python computes."""

    formula: Formula
    span: Span | None = field(compare=False)
    sort: Sort = Sort.NUMBER


@dataclass(frozen=True, slots=True)
class Cast:
    """A truth as a value, or as one a choice of numbers."""

    operand: Node
    span: Span | None = field(compare=False)
    sort: Sort = Sort.VALUE


@dataclass(frozen=True, slots=True)
class Applied:
    """A function of operands."""

    function: Function
    operands: tuple[Node, ...]
    sort: Sort
    span: Span | None = field(compare=False)


Node = Argument | Number | Cast | Applied


def nodes(node: Node) -> Iterator[Node]:
    """Yield the node and all it is made of, the outer before the inner."""
    yield node
    match node:
        case Applied(_, operands):
            for operand in operands:
                yield from nodes(operand)
        case Cast(operand):
            yield from nodes(operand)
        case _:
            pass


def literal_of(formula: Formula) -> int | float | None:
    """Return the value of a number that stands there as it is: `2`, `-inf`; None for what Python computes."""
    match formula:
        case Constant(bool() | int() | float() as value):
            return value
        case Reference(Kind.CONSTANT, name):
            return _CONSTANTS[name]
        case Unary("-", Reference(Kind.CONSTANT, name)):
            return -_CONSTANTS[name]
        case _:
            return None


def numbers_of(node: Node) -> tuple[Formula, ...]:
    """Return what Python computes of numbers, each formula once; literals aside."""
    found = (part.formula for part in nodes(node) if isinstance(part, Number))
    return tuple(dict.fromkeys(formula for formula in found if literal_of(formula) is None))
