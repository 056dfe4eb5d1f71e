"""The rules of definitions at run time, which are PyTorch's own: what it refuses, and what it takes though it is bad
manners. The further rules for schema files (how out and in-place variants look) are not asked of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from opwright_codegen.errors import SchemaError
from opwright_codegen.schema.defaults import EnumName
from opwright_codegen.schema.element_rules import SchemaProblem
from opwright_codegen.schema.model import Argument, FunctionSchema
from opwright_codegen.schema.rules import as_errors, find_problems
from opwright_codegen.schema.types import BaseType, ListType, OptionalType

__all__ = ["definition_problems"]

_REFUSED: Final = frozenset(("unknown-type", "vararg-default", "type-arguments"))
# Of these, PyTorch takes None as a default; where they are constants or may be None, any number and text, too.
_OBJECTS: Final = frozenset(("Tensor", "Generator", "QScheme"))
_CONSTANTS: Final = frozenset(
    (
        *("int", "float", "bool", "str", "complex", "Scalar", "number", "SymInt", "SymFloat", "SymBool"),
        *("ScalarType", "Layout", "MemoryFormat", "DeviceIndex"),
    )
)


def definition_problems(
    schema: FunctionSchema, classes: Collection[str] = ()
) -> tuple[list[SchemaError], list[SchemaError]]:
    """Return what PyTorch refuses in the definition of an operator, and what it takes though it is bad manners.
    `classes` are the names of classes that are registered as types."""
    known = {f"unknown type specifier '{name}'" for name in classes}
    refused: list[SchemaProblem] = []
    taken: list[SchemaProblem] = []
    for problem in find_problems(schema):
        if problem.message in known:
            continue
        if problem.code in _REFUSED:
            refused.append(problem)
        elif (is_taken := _is_taken(problem, schema)) is not None:
            (taken if is_taken else refused).append(problem)
    return as_errors(schema, refused), as_errors(schema, taken)


def _is_taken(problem: SchemaProblem, schema: FunctionSchema) -> bool | None:
    """Whether PyTorch takes what breaks the rule; None for a rule that definitions are not held to."""
    match problem.code:
        case "duplicate-argument" | "duplicate-return":
            return True
        case "default-order":
            return isinstance(schema.arguments[problem.place].type, ListType)
        case "default-type":
            return _takes_default(schema.arguments[problem.place])
        case "reserved-overload":
            return schema.name.overload != "default"
        case _:
            return None


def _takes_default(argument: Argument) -> bool:
    """Whether PyTorch takes the default, though it is none of the argument's type."""
    default, type = argument.default, argument.type
    inner = type.elem if isinstance(type, OptionalType) else type
    if default is None or not isinstance(inner, BaseType) or (default.is_bare and isinstance(default.value, str)):
        return False
    if default.value is None:
        return inner.name in _OBJECTS or inner.name in _CONSTANTS
    return (type.is_optional or inner.name in _CONSTANTS) and not isinstance(default.value, EnumName | tuple | complex)
