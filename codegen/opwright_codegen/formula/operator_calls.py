"""Calls of operators in formulas: whether an overload takes that many arguments, by these names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.formula.ast import Call, Formula, Kind, Reference, walk
from opwright_codegen.schema.types import ListType

if TYPE_CHECKING:
    from opwright_codegen.schema.model import FunctionSchema

__all__ = ["check_operator_calls"]

_SHOWN = 4  # overloads


def check_operator_calls(formula: Formula, operators: Mapping[str, Sequence[FunctionSchema]], code: str) -> None:
    """Raise SchemaErrors of this code for calls that no overload takes. An operator whose schemas are not known, of
    another package, takes any."""
    errors = Errors()
    for node in walk(formula):
        match node:
            case Call(Reference(Kind.OPERATOR, name), arguments, keywords) if operators.get(name):
                schemas = operators[name]
                if not any(_takes(schema, len(arguments), [key for key, _ in keywords]) for schema in schemas):
                    shown = " or ".join(str(schema).partition("::")[2] or str(schema) for schema in schemas[:_SHOWN])
                    message = f"{name}() takes other arguments than it is given"
                    errors.add(SchemaError(code, message, node.span, f"it is declared {shown}"))
            case _:
                pass
    errors.raise_if_any()


def _takes(schema: FunctionSchema, count: int, keywords: Sequence[str]) -> bool:
    """Whether so many arguments by position and these by name are what an operator takes."""
    if schema.is_vararg:
        return True
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    if count > len(positional) and not any(isinstance(argument.type, ListType) for argument in positional):
        return False
    given = {argument.name for argument in positional[:count]} | {keyword.rstrip("_") for keyword in keywords}
    known = {argument.name.rstrip("_") for argument in schema.arguments}
    needed = {argument.name for argument in schema.arguments if argument.default is None}
    return {keyword.rstrip("_") for keyword in keywords} <= known and needed <= given
