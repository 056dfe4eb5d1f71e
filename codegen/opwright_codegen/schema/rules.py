"""Rules about the schema of a declared operator, beyond syntax: its name, the order of arguments, what is written."""

from __future__ import annotations

from collections.abc import Iterator

from opwright_codegen.errors import SchemaError
from opwright_codegen.schema.element_rules import SchemaProblem, problems_of_argument, problems_of_type
from opwright_codegen.schema.model import Argument, FunctionSchema, Return, SchemaKind
from opwright_codegen.schema.types import BaseType
from opwright_codegen.source import Span

__all__ = ["as_errors", "check_types", "find_problems", "schema_problems"]

# ATen has such operators: `__and__`, `__ilshift__`. Of other names of that form Python's objects have their own.
_PYTHON_OPERATORS = frozenset(
    f"__{kind}{word}__"
    for kind in ("", "i", "r")
    for word in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
        *("and", "or", "xor", "lshift", "rshift"),
    )
) | {"__neg__", "__pos__", "__abs__", "__invert__"}


def schema_problems(schema: FunctionSchema) -> list[SchemaError]:
    """Return what is wrong with the schema as the declaration of an operator, each problem at its position."""
    return as_errors(schema, find_problems(schema))


def find_problems(schema: FunctionSchema) -> list[SchemaProblem]:
    """Return the rules that the schema breaks, and the parts of it that do."""
    return [*_of_parts(schema), *_of_name(schema), *_of_order(schema), *_of_writes(schema)]


def check_types(schema: FunctionSchema, *, type_variables: bool = False) -> None:
    """Raise SchemaError at the first type that does not exist. TorchScript's type variables (`t`, `tVal`: a word in
    small letters) are types only when asked for: in the declaration of an operator they are misspelt ones."""
    found: list[SchemaProblem] = []
    for i, argument in enumerate(schema.arguments):
        found += problems_of_type(argument.type, "argument", i, type_variables)
    for i, result in enumerate(schema.returns):
        found += problems_of_type(result.type, "return", i, type_variables)
    for error in as_errors(schema, found):
        raise error


def as_errors(schema: FunctionSchema, problems: list[SchemaProblem]) -> list[SchemaError]:
    """Return the problems as errors, each at its position in the file."""
    if not problems:
        return []
    return [SchemaError(p.code, p.message, _span(schema, p), p.hint) for p in problems]


def _span(schema: FunctionSchema, problem: SchemaProblem) -> Span:
    from opwright_codegen.schema.spans import locate

    spans = locate(schema.text if schema.text is not None else str(schema), schema.span)
    match problem.part:
        case "name":
            return spans.name
        case "argument":
            return spans.arguments[problem.place].type
        case "argument name":
            return spans.arguments[problem.place].name
        case "default":
            return spans.arguments[problem.place].default or spans.arguments[problem.place].whole
        case "return":
            return spans.returns[problem.place].whole
        case "whole":
            return spans.whole


_MAX_REMEMBERED = 20_000
_fine: dict[int, Argument | Return] = {}  # arguments and results without problems of their own, by id, kept alive here


def _of_parts(schema: FunctionSchema) -> list[SchemaProblem]:
    """Return the problems of each argument and result by itself, looked at once: schemas share most of theirs."""
    found: list[SchemaProblem] = []
    for i, argument in enumerate(schema.arguments):
        if _fine.get(id(argument)) is not argument:
            own = [*problems_of_type(argument.type, "argument", i, False), *problems_of_argument(argument, i)]
            found += own
            if not own:
                _remember(argument)
    for i, result in enumerate(schema.returns):
        if _fine.get(id(result)) is not result:
            own = list(problems_of_type(result.type, "return", i, False))
            found += own
            if not own:
                _remember(result)
    return found


def _remember(part: Argument | Return) -> None:
    if len(_fine) > _MAX_REMEMBERED:
        _fine.clear()
    _fine[id(part)] = part


def _of_name(schema: FunctionSchema) -> Iterator[SchemaProblem]:
    name = schema.name
    for part in (name.namespace, name.base, name.overload):
        if part.startswith("__") and part.endswith("__") and not (part is name.base and part in _PYTHON_OPERATORS):
            yield SchemaProblem("reserved-name", f"{part!r} is a name of Python's own", "name")
    if name.overload == "default":
        hint = "the overload without a name is the one called default"
        yield SchemaProblem("reserved-overload", "'default' is not a legal overload name", "name", 0, hint)
    if name.base.endswith("_out"):
        hint = f"name the overload instead: {name.base.removesuffix('_out')}.{name.overload or 'out'}"
        yield SchemaProblem("reserved-suffix", "operator names that end in _out are reserved", "name", 0, hint)
    if "functional" in name.overload and schema.kind is not SchemaKind.FUNCTIONAL:
        hint = "choose another overload name"
        message = f"the overload says functional, the schema is {schema.kind.value}"
        yield SchemaProblem("reserved-overload", message, "name", 0, hint)


def _of_order(schema: FunctionSchema) -> Iterator[SchemaProblem]:
    """Check that each name stands once, and what has a default after what has none, among the positional arguments."""
    seen: set[str] = set()
    first_default: str | None = None
    for i, argument in enumerate(schema.arguments):
        if argument.name in seen:
            message, hint = (
                f"there are two arguments '{argument.name}'",
                f"call this one {argument.name}{i}, or otherwise",
            )
            yield SchemaProblem("duplicate-argument", message, "argument name", i, hint)
        seen.add(argument.name)
        if argument.kwarg_only:
            continue
        if argument.default is not None:
            first_default = first_default or argument.name
        elif first_default is not None:
            message = f"argument '{argument.name}' has no default, but follows '{first_default}', which has one"
            yield SchemaProblem(
                "default-order", message, "argument name", i, "give it a default, or put it before, or after '*'"
            )
    if schema.is_vararg and any(a.default is not None for a in schema.arguments):
        at = next(i for i, a in enumerate(schema.arguments) if a.default is not None)
        yield SchemaProblem("vararg-default", "arguments before '...' have no defaults", "default", at)
    names: set[str] = set()
    for i, result in enumerate(schema.returns):
        if result.name is not None and result.name in names:
            message, hint = f"there are two results '{result.name}'", f"call this one {result.name}{i}, or otherwise"
            yield SchemaProblem("duplicate-return", message, "return", i, hint)
        names.add(result.name or "")


_TENSOR = BaseType("Tensor")


def _of_writes(schema: FunctionSchema) -> Iterator[SchemaProblem]:
    """Check what an operator that writes to arguments returns, so that variants can stand for each other."""
    if schema.name.inplace:
        yield from _of_inplace(schema)
    mutated = schema.mutated_arguments
    if not mutated and not any(r.is_write for r in schema.returns):
        return
    outs = [a for a in mutated if a.kwarg_only]
    if outs:
        yield from _of_out(schema, outs)
    own = schema.self_argument
    for argument in mutated:
        if argument.kwarg_only or argument is own:
            continue
        for i, result in enumerate(schema.returns):
            if result.annotations == argument.annotations:
                message = f"'{argument.name}' is written to and returned, which only self and out arguments are"
                hint = "put it after '*' to make it an out argument, or do not return it"
                yield SchemaProblem("mutable-returned", message, "return", i, hint)
    written = [r for r in schema.returns if r.is_write]
    if written and len(written) < len(schema.returns):
        at = next(i for i, r in enumerate(schema.returns) if not r.is_write)
        message = "results are either all arguments written to or none; this one is new"
        yield SchemaProblem("mixed-returns", message, "return", at, "leave the written argument out of the results")
    aliases = {a.annotations for a in mutated}
    for i, result in enumerate(schema.returns):
        if result.is_write and result.annotations not in aliases:
            message = f"result {result} is no argument that is written to"
            unnamed = next(
                (a for a in mutated if a.type == result.type and a.annotation and a.annotation.is_fresh), None
            )
            yield SchemaProblem("unknown-alias", message, "return", i, _named(unnamed) if unnamed else None)


def _named(argument: Argument) -> str:
    """Return how an argument that is written to can be a result: the two are in an alias set that has a name."""
    named = f"{argument.type}(a!)"
    return f"write {named} {argument.name} and -> {named}: what is marked with ! alone is no result"


def _of_inplace(schema: FunctionSchema) -> Iterator[SchemaProblem]:
    own = schema.self_argument
    if own is None or not own.is_write:
        hint = f"write Tensor(a!) {own.name if own else 'self'}, or a name without the final '_'"
        yield SchemaProblem(
            "inplace-self", f"in-place operator {schema.name} does not write to its self argument", "name", 0, hint
        )
        return
    if own.type != _TENSOR:
        if schema.returns:
            message = f"an in-place operator on {own.type} returns nothing"
            yield SchemaProblem("inplace-returns", message, "return", 0, "write -> ()")
    elif len(schema.returns) != 1 or schema.returns[0].annotation != own.annotation:
        message = f"in-place operator {schema.name} must return '{own.name}' and nothing else"
        hint = f"write -> Tensor({own.annotation})" if own.annotation and not own.annotation.is_fresh else _named(own)
        yield SchemaProblem("inplace-returns", message, "return" if schema.returns else "whole", 0, hint)


def _of_out(schema: FunctionSchema, outs: list[Argument]) -> Iterator[SchemaProblem]:
    first = schema.arguments.index(outs[0])
    if schema.name.inplace:
        yield SchemaProblem("inplace-out", "an in-place operator has no out arguments", "argument", first)
    for i, argument in enumerate(schema.arguments[first:], first):
        if not argument.is_write:
            message = (
                f"argument '{argument.name}', which is not written to, cannot follow out argument '{outs[0].name}'"
            )
            yield SchemaProblem("argument-after-out", message, "argument name", i, "out arguments come last")
    if any(a.type != _TENSOR for a in outs):
        if schema.returns:
            message = f"an operator with out argument '{outs[0].name}' of type {outs[0].type} returns nothing"
            yield SchemaProblem("out-returns", message, "return", 0, "write -> ()")
        return
    # PyTorch's scratch tensors are out arguments that are not returned.
    wanted = [a for a in outs if not a.is_scratch]
    unnamed = next((a for a in wanted if a.annotation is not None and a.annotation.is_fresh), None)
    right = ", ".join(f"Tensor({a.annotation})" for a in wanted)
    hint = f"write -> {right if len(wanted) == 1 else f'({right})'}" if unnamed is None else _named(unnamed)
    if len(wanted) != len(schema.returns):
        message = f"there must be one result for each out argument, {len(wanted)} in all, not {len(schema.returns)}"
        yield SchemaProblem("out-returns", message, "return" if schema.returns else "whole", 0, hint)
        return
    for i, (argument, result) in enumerate(zip(wanted, schema.returns, strict=True)):
        if argument.annotation != result.annotation or result.type != _TENSOR:
            kind = argument.type if unnamed else f"Tensor({argument.annotation})"
            message = f"result {i} must be out argument '{argument.name}', {kind}, not {result}"
            yield SchemaProblem("out-returns", message, "return", i, hint)
