"""Sorts of values, which show what cannot do what a formula asks of it: None that is added, a list with a dtype.

An argument of an optional type may be None, except where the formula has asked: in `b` of `b if x is not None else c`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.formula.allowed_names import RESULT_FACTS
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
    List,
    Reference,
    Subscript,
    Tuple,
    Unary,
    children,
)
from opwright_codegen.formula.ufuncs import UFUNCS
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.schema.types import Type

__all__ = ["NOTHING", "Given", "Sort", "check_sorts", "described", "narrowed", "sort_of"]


class Sort(Enum):
    """The kinds of values that are told apart before anything runs."""

    NONE = "None"
    OPTIONAL = "a value or None"
    SEQUENCE = "a sequence"
    TEXT = "a str"
    NUMBER = "a number"
    TENSOR = "a tensor"


Given = frozenset[str]  # the optional arguments that are known not to be None
NOTHING: Given = frozenset()


def sort_of(formula: Formula, schema: FunctionSchema, given: Given = NOTHING) -> Sort | None:
    """Return the sort of a formula's value; None where that is not known."""
    match formula:
        case Constant(None):
            return Sort.NONE
        case Constant(str()):
            return Sort.TEXT
        case Constant(int() | float() | complex()) | Reference(Kind.CONSTANT):
            return Sort.NUMBER
        case List() | Tuple() | Attribute(_, "shape" | "strides") | Reference(Kind.GRAD, "grads"):
            return Sort.SEQUENCE
        case Reference(Kind.GRAD):
            return Sort.TENSOR
        case Reference(Kind.RESULT, name):
            types = dict(zip(schema.output_names, (each.type for each in schema.returns), strict=False))
            return _sort_of_type(types[name], True) if name in types else None
        case Binary(_, left, right):
            sorts = [sort_of(each, schema, given) for each in (left, right)]
            return Sort.TENSOR if Sort.TENSOR in sorts else sorts[0] if sorts[0] is sorts[1] else None
        case Unary("-" | "+" | "~", operand):
            return sort_of(operand, schema, given)
        case Subscript(value, index):
            return _sort_of_item(value, index, schema, given)
        case Reference(Kind.ARGUMENT, name):
            found = next((a.type for a in schema.arguments if a.name == name), None)
            return None if found is None else _sort_of_type(found, name in given)
        case _:
            return None


def _sort_of_item(value: Formula, index: Formula, schema: FunctionSchema, given: Given) -> Sort | None:
    match value, index:
        case Reference(Kind.ARGUMENT, name), Constant(int()):
            found = next((a.type for a in schema.arguments if a.name == name), None)
            held = None if found is None else found.list_type
            return None if held is None or held.elem.is_optional else _sort_of_type(held.elem, False)
        case _:
            return Sort.TENSOR if sort_of(value, schema, given) is Sort.TENSOR else None


def _sort_of_type(type: Type, is_given: bool) -> Sort | None:
    if type.is_optional and not is_given:
        return Sort.OPTIONAL
    if type.is_list_like:
        return Sort.SEQUENCE
    if type.is_tensor_like:
        return Sort.TENSOR
    match str(type.base()):
        case "str":
            return Sort.TEXT
        case "int" | "SymInt" | "float" | "bool" | "Scalar" | "number":
            return Sort.NUMBER
        case _:
            return None


def described(formula: Formula, schema: FunctionSchema, sort: Sort) -> str:
    """Say in an error's words what a part of a formula is: `'by' is declared Scalar?, and may be None`."""
    match formula:
        case Reference(Kind.ARGUMENT, name):
            declared = next(a.type for a in schema.arguments if a.name == name)
            return f"{name!r} is declared {declared}" + (", and may be None" if sort is Sort.OPTIONAL else "")
        case Attribute(_, name):
            return f".{name} is {sort.value}"
        case Subscript(Reference(_, name)):
            return f"an item of {name!r} is {sort.value}"
        case Reference(_, name):
            return f"{name!r} is {sort.value}"
        case _:
            return f"this is {sort.value}"


def narrowed(formula: Formula, given: Given = NOTHING) -> Iterator[tuple[Formula, Given]]:
    """Yield the formula and all it is made of, each with the optional arguments that are no None where it stands."""
    yield formula, given
    match formula:
        case Conditional(test, then, otherwise):
            yield from narrowed(test, given)
            yield from narrowed(then, given | _known(test, True))
            yield from narrowed(otherwise, given | _known(test, False))
        case Boolean(operator, values):
            for value in values:
                yield from narrowed(value, given)
                given |= _known(value, operator == "and")
        case _:
            for child in children(formula):
                yield from narrowed(child, given)


def _known(test: Formula, holds: bool) -> Given:
    """Return the arguments that are no None where the test holds, or where it does not."""
    match test:
        case Comparison(Reference(Kind.ARGUMENT, name), (("is not" | "is" as operator, Constant(None)),)):
            return frozenset((name,)) if (operator == "is not") is holds else NOTHING
        case Reference(Kind.ARGUMENT, name):
            return frozenset((name,)) if holds else NOTHING
        case Unary("not", operand):
            return _known(operand, not holds)
        case Boolean(operator, values) if (operator == "and") is holds:
            return NOTHING.union(*(_known(value, holds) for value in values))
        case _:
            return NOTHING


def check_sorts(
    formula: Formula, schema: FunctionSchema, *, is_of_arrays: bool = False, inputs: Collection[str] = ()
) -> None:
    """Raise SchemaErrors for all that a resolved formula does with values that cannot do it. Arrays take sequences as
    operands; tensors do not. The `inputs` that a derivative is of are there where it is computed."""
    errors = Errors()
    for node, given in narrowed(formula, frozenset(inputs)):
        for part, does in _wrong(node, schema, given, is_of_arrays):
            sort = sort_of(part, schema, given)
            assert sort is not None
            hint = None
            if sort is Sort.OPTIONAL and isinstance(part, Reference):
                hint = f"as in: … if {part.name} is None else …"
            message = f"{schema.name}: {described(part, schema, sort)}, which {does}"
            errors.add(SchemaError("formula-operand", message, part.span or node.span or formula.span, hint))
    errors.raise_if_any()


def _wrong(node: Formula, schema: FunctionSchema, given: Given, is_of_arrays: bool) -> Iterator[tuple[Formula, str]]:
    """Yield the operands of one operation that it cannot be done with, and what they lack."""
    nothing = (Sort.NONE, Sort.OPTIONAL)

    def sort(part: Formula) -> Sort | None:
        return sort_of(part, schema, given)

    match node:
        case Binary(operator, left, right):
            for part, other in ((left, right), (right, left)):
                if sort(part) in (*nothing, Sort.TEXT):
                    yield part, f"takes no {operator!r}"
                elif sort(part) is Sort.SEQUENCE and not _joins(operator, sort(other), is_of_arrays):
                    yield part, f"takes no {operator!r} here"
        case Unary("-" | "+" | "~" as operator, operand):
            if sort(operand) in (*nothing, Sort.TEXT, Sort.SEQUENCE):
                yield operand, f"takes no {operator!r}"
        case Comparison(first, rest):
            for operator, part in (("", first), *rest):
                if sort(part) in nothing and any(each in ("<", "<=", ">", ">=") for each, _ in rest):
                    yield part, f"takes no {operator or rest[0][0]!r}"
        case Attribute(value, name):
            found = sort(value)
            is_of_others = found is Sort.SEQUENCE and name != "index"
            is_of_others |= found is Sort.TENSOR and is_of_arrays and name in RESULT_FACTS
            if is_of_others or found in (*nothing, Sort.TEXT):
                yield value, f"has no {name!r}"
        case Subscript(value):
            if sort(value) in (*nothing, Sort.NUMBER):
                yield value, "has no items"
        case Call(Attribute(Reference(Kind.MODULE), name), arguments) if name in UFUNCS:
            for argument in arguments:
                if sort(argument) is Sort.OPTIONAL:
                    yield argument, f"xp.{name}() does not take"


def _joins(operator: str, sort: Sort | None, is_of_arrays: bool) -> bool:
    """Whether a sequence may stand beside the other operand: sequences are joined and repeated, arrays take them."""
    if is_of_arrays and sort in (None, Sort.TENSOR):
        return True
    if operator == "*":
        return sort in (None, Sort.NUMBER)
    return operator == "+" and sort in (None, Sort.SEQUENCE)
