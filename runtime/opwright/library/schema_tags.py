"""The demands of the tags `out` and `inplace` on a schema that is defined with them."""

from __future__ import annotations

from typing import Any

from opwright.metadata.tags import Tag

__all__ = ["check_tagged"]

_Schema = Any  # the generator's FunctionSchema


def check_tagged(schema: _Schema, tags: tuple[Tag, ...]) -> None:
    """Raise ValueError for a schema that breaks the rules of its tags."""
    for tag, find in ((Tag.out, _out_problem), (Tag.inplace, _inplace_problem)):
        problem = find(schema) if tag in tags else ""
        if problem:
            raise ValueError(f"a schema with the tag {tag} {problem}\nGot: {schema}")


def _out_problem(schema: _Schema) -> str:
    written: list[Any] = [argument for argument in schema.arguments if argument.is_write]
    if not written:
        return "must have at least one mutable argument: Tensor(a!), keyword-only"
    for argument in written:
        if not argument.kwarg_only:
            return f"requires all mutable arguments to be keyword-only (after the *): '{argument.name}' is positional"
        if str(argument.type) != "Tensor":
            return f"has Tensors alone as mutable arguments: '{argument.name}' is {argument.type}"
    if len(schema.returns) != len(written):
        return f"must return all its mutable arguments: it has {len(written)}, and {len(schema.returns)} returns"
    for position, argument in enumerate(written):
        problem = _alias_problem(schema, position, argument)
        if problem:
            return problem
    return ""


def _inplace_problem(schema: _Schema) -> str:
    if not schema.arguments or schema.arguments[0].kwarg_only:
        return "must have at least one positional argument, the one that is written to"
    first = schema.arguments[0]
    if not first.is_write:
        return f"requires its first positional argument to be mutable: '{first.name}' is not Tensor(a!)"
    if str(first.type) != "Tensor":
        return f"requires its first positional argument to be a Tensor: '{first.name}' is {first.type}"
    if len(schema.returns) != 1:
        return f"must return exactly one value, its first argument: it has {len(schema.returns)} returns"
    problem = _alias_problem(schema, 0, first)
    if problem:
        return problem
    others = [argument.name for argument in schema.arguments[1:] if argument.is_write]
    return f"must mutate its first argument alone, not {', '.join(others)} too" if others else ""


def _alias_problem(schema: _Schema, position: int, argument: Any) -> str:
    """Return what keeps a return from being the argument."""
    found, name = schema.returns[position], argument.name
    written = f"Tensor{argument.annotation.mark}"
    if str(found.type) != "Tensor":
        return f"must return '{name}': return {position} is {found.type}"
    if argument.annotation.is_fresh:
        return f"must return '{name}': its alias set has no name, write Tensor(a!) {name} and -> Tensor(a!)"
    if found.annotation is None:
        return f"must return '{name}': return {position} is no alias of it, {written}"
    if not found.is_write:
        return f"must return '{name}': return {position} is no mutable alias of it, {written}"
    if found.annotation != argument.annotation:
        return f"must return '{name}', {written}: return {position} is {found}"
    return ""
