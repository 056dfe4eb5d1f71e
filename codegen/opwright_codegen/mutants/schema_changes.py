"""Changes of schemas: what is written, what shares memory, what may be None, what is left out of calls."""

from __future__ import annotations

import math
from collections.abc import Iterator

from opwright_codegen.mutants.mutant import Change
from opwright_codegen.records import replace
from opwright_codegen.schema.defaults import Default
from opwright_codegen.schema.model import Argument, FunctionSchema, Return
from opwright_codegen.schema.types import Annotation, BaseType, OptionalType

__all__ = ["changes_of_schema"]

_TENSOR = BaseType("Tensor")


def changes_of_schema(schema: FunctionSchema) -> Iterator[Change]:
    """Yield the text of a schema with each change that it can have."""
    for at, argument in enumerate(schema.arguments):
        if argument.is_write:
            yield Change("write dropped", str(_without(schema, argument)))
        elif argument.annotation is not None:
            yield Change("alias dropped", str(_without(schema, argument)))
        elif argument.type == _TENSOR:
            yield Change("write added", str(_put(schema, at, replace(argument, annotation=_set("w", True)))))
        if isinstance(argument.type, OptionalType):
            yield Change("None dropped", str(_put(schema, at, _needed(argument))))
        if argument.default is not None and (other := _other(argument.default)) is not None:
            yield Change("default changed", str(_put(schema, at, replace(argument, default=other))))
    yield from (Change("alias added", text) for text in _aliased(schema))


def _set(name: str, write: bool) -> Annotation:
    return Annotation((name,), write)


def _put(schema: FunctionSchema, at: int, argument: Argument) -> FunctionSchema:
    arguments = (*schema.arguments[:at], argument, *schema.arguments[at + 1 :])
    return replace(schema, arguments=arguments, text=None, span=None)


def _without(schema: FunctionSchema, argument: Argument) -> FunctionSchema:
    """Return the schema without an argument's annotation, also where a result has the same."""

    def bare(part: Argument | Return) -> Argument | Return:
        shared = part is argument or (part.annotation == argument.annotation and isinstance(part, Return))
        return replace(part, annotation=None, list_annotations=()) if shared else part

    arguments = tuple(map(bare, schema.arguments))
    returns = tuple(map(bare, schema.returns))
    return replace(schema, arguments=arguments, returns=returns, text=None, span=None)  # type: ignore[arg-type]


def _needed(argument: Argument) -> Argument:
    """Return an argument that is never None."""
    assert isinstance(argument.type, OptionalType)
    is_none = argument.default is not None and argument.default.value is None
    return replace(argument, type=argument.type.elem, default=None if is_none else argument.default)


def _other(default: Default) -> Default | None:
    """Return another default of the same type, where one is sure to be."""
    match default.value:
        case bool() as value:
            return Default(not value)
        case int() as value:
            return Default(value + 1)
        case float() as value if math.isfinite(value):
            return Default(value + 1.0)
    return None


def _aliased(schema: FunctionSchema) -> Iterator[str]:
    """Yield the schema as that of a view, where its first argument and result are Tensors without annotations."""
    first = next((each for each in schema.arguments if each.type == _TENSOR and each.annotation is None), None)
    if first is None or not schema.returns or schema.returns[0].type != _TENSOR or schema.returns[0].annotation:
        return
    if schema.mutated_arguments:
        return
    at = schema.arguments.index(first)
    returns = (replace(schema.returns[0], annotation=_set("v", False)), *schema.returns[1:])
    yield str(replace(_put(schema, at, replace(first, annotation=_set("v", False))), returns=returns))
