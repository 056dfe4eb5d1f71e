"""The written rule of `dims`: which dimension is which factor, and what cutting one costs; and its `linear`.

`opwright.dimensions.written` reads the same notation when a rule is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from opwright_codegen.errors import Errors, SchemaError, nearest
from opwright_codegen.formula.positions import place
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.dims import EXAMPLE, Dims
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Text

__all__ = ["Sharding", "linear_groups", "sharding_of", "written_sharding"]

_NAME: Final = re.compile(r"\.\.\.|\*|\(\)|\w+|[^\s\w]")
_FREE: Final = ("...", "*", "1", "()")


@dataclass(frozen=True, slots=True)
class Sharding:
    """A rule as text, or the path of a function that makes it; or the reason to cut nothing."""

    rule: str = ""
    whole: str = ""


def sharding_of(schema: FunctionSchema, dims: Dims, kernels: KernelModules) -> Sharding:
    """Return the written rule of an operator, with the function that it names looked up. Raises SchemaErrors."""
    if dims.function is not None:
        module, _, name = dims.function.text.partition(":")
        function = kernels.find_path(module, name, dims.function.span)
        return Sharding(f"{function.module}:{function.name}")
    return written_sharding(schema, dims)


def written_sharding(schema: FunctionSchema, dims: Dims) -> Sharding:
    """Return the written rule of an operator of this schema. Raises SchemaErrors for a wrong one."""
    errors = Errors()
    for error in _problems(schema, dims):
        errors.add(error)
    errors.raise_if_any()
    if dims.function is not None:
        return Sharding(dims.function.text)
    if dims.names is None:
        return Sharding("", dims.whole)
    kinds = ", ".join(map(str, dims.kinds))
    return Sharding(" ".join(dims.names.text.split()) + (f"; {kinds}" if kinds else ""))


def _problems(schema: FunctionSchema, dims: Dims) -> Iterator[SchemaError]:
    """Yield what is wrong with names of dimensions and with their kinds."""
    if dims.names is None:
        for kind in dims.kinds:
            message = f"{str(kind)!r} is said of a dimension that has no name"
            yield SchemaError("dims-kind", message, kind.factor.span, EXAMPLE)
        return
    left, _, right = dims.names.text.partition("->")
    operands, results = _groups(dims.names, left, 0), _groups(dims.names, right, len(left) + 2)
    yield from _counted(schema, dims.names, operands, results)
    names = {name.text for group in operands for name in group}
    for name in [each for group in (*operands, *results) for each in group]:
        if not (name.text in _FREE or name.text.isidentifier()):
            message = f"{name.text!r} is no name of a dimension"
            yield SchemaError("dims-form", message, name.span, EXAMPLE)
    for name in [each for group in results for each in group]:
        if name.text not in names and name.text not in _FREE and name.text.isidentifier():
            yield _unknown(name, names)
    yield from _wrong_kinds(schema, dims, names)
    kinds = {kind.factor.text for kind in dims.kinds}
    for name in [each for group in operands for each in group]:
        is_missing = any(name.text not in [each.text for each in group] for group in results)
        if is_missing and name.text not in kinds and (name.text.isidentifier() or name.text == "..."):
            message = f"{name.text!r} is not in each result, and nothing says how parts are put together"
            kinds.add(name.text)
            yield SchemaError("dims-kind", message, name.span, f"say: {name.text} sum, or whole")


def _groups(names: Text, side: str, start: int) -> list[list[Text]]:
    """Return the names of each operand, or of each result."""
    found, at = [], start
    for part in side.split(","):
        spans = [(at + each.start(), at + each.end()) for each in _NAME.finditer(part)]
        found.append([Text(names.text[first:last], place(names, first, last)) for first, last in spans])
        at += len(part) + 1
    return found


def _counted(
    schema: FunctionSchema, names: Text, operands: Sequence[object], results: Sequence[object]
) -> Iterator[SchemaError]:
    tensors = sum(each.type.is_tensor_like for each in schema.arguments)
    arrow = names.text.index("->")
    if len(operands) != tensors:
        message = f"{len(operands)} operands are named, and the operator takes {tensors} tensors"
        hint = "an operand that may be None is named, too"
        yield SchemaError("dims-form", message, place(names, 0, max(arrow, 1)), hint)
    if len(results) != len(schema.returns):
        message = f"{len(results)} results are named, and the operator returns {len(schema.returns)}"
        yield SchemaError("dims-form", message, place(names, arrow, arrow + 2), EXAMPLE)


def _wrong_kinds(schema: FunctionSchema, dims: Dims, names: set[str]) -> Iterator[SchemaError]:
    known = {each.name for each in schema.arguments if not each.type.is_tensor_like}
    for kind in dims.kinds:
        if kind.factor.text not in names:
            yield _unknown(kind.factor, names)
        for number in kind.numbers:
            if not (number.text.isdigit() or number.text in known):
                message = f"{number.text!r} is neither a number nor an argument that is one"
                yield SchemaError("dims-kind", message, number.span)


def _unknown(name: Text, names: set[str]) -> SchemaError:
    near = nearest(name.text, names - {*_FREE})
    hint = f"did you mean {near!r}?" if near else "a new dimension, which is not cut, is 1"
    return SchemaError("dims-factor", f"no operand has the factor {name.text!r}", name.span, hint)


def linear_groups(schema: FunctionSchema, dims: Dims) -> tuple[tuple[int, ...], ...]:
    """Return the positions of tensors in which an operator is linear: `linear(a, b)` in each by itself, `linear(a + b)`
    in both together, `linear` in each tensor by itself. Raises SchemaError for what is no tensor."""
    places = {each.name: n for n, each in enumerate(schema.arguments) if each.type.is_tensor_like}
    if dims.linear == ():
        return tuple((place,) for place in places.values())
    for name in [name for group in dims.linear or () for name in group]:
        if name.text not in places:
            near = nearest(name.text, places)
            hint = f"did you mean {near!r}?" if near else f"tensors are: {', '.join(places)}"
            raise SchemaError("dims-linear", f"{name.text!r} is no tensor that is taken", name.span, hint)
    return tuple(tuple(places[name.text] for name in group) for group in dims.linear or ())
