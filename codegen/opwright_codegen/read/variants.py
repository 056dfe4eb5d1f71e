"""The schemas that the variants of an operator have, and the names that they may have."""

from __future__ import annotations

import string
from collections.abc import Iterator

from opwright_codegen.records import replace
from opwright_codegen.schema.model import Argument, FunctionSchema, OperatorName, Return, SchemaKind
from opwright_codegen.schema.types import Annotation, BaseType, ListType

__all__ = ["inplace_names", "inplace_problem", "inplace_schema", "local_name", "out_names", "out_problem", "out_schema"]

_TENSOR = BaseType("Tensor")
_TENSORS = ListType(_TENSOR)


def local_name(name: OperatorName) -> str:
    """Return the name without its namespace, as `autogen` gives it."""
    return f"{name.base}.{name.overload}" if name.overload else name.base


def out_names(schema: FunctionSchema) -> tuple[OperatorName, ...]:
    """Return the names that an out variant may have; the first is the one that torchgen makes.

    ATen itself shortens: the out variant of `sum.dim_IntList` is `sum.IntList_out`, that of `add.Tensor` is `add.out`.
    Or it says the type of the second argument: `bernoulli.float_out` of `bernoulli.p`.
    """
    name = schema.name
    full = f"{name.overload}_out" if name.overload else "out"
    short = [f"{name.overload.rpartition('_')[2]}_out"] if name.overload else []
    overloads = (full, "out", *short, *(f"{word}_out" for word in _second_type(schema)))
    return tuple(OperatorName(name.namespace, name.stem, overload) for overload in dict.fromkeys(overloads))


def inplace_names(schema: FunctionSchema) -> tuple[OperatorName, ...]:
    """Return the names that an in-place variant may have: `add_.Tensor` of `add.Tensor`, `__iand__` of `__and__`.

    ATen shortens here too (`transpose_` of `transpose.int`, `pow_.Scalar` of `pow.Tensor_Scalar`), or says the type of
    the second argument (`floor_divide_.Tensor` of `floor_divide`).
    """
    name = schema.name
    base = f"{name.base}_" if name.dunder is None else f"__i{name.dunder}__"
    overloads = (name.overload, name.overload.rpartition("_")[2], "", *_second_type(schema))
    return tuple(OperatorName(name.namespace, base, overload) for overload in dict.fromkeys(overloads))


def _second_type(schema: FunctionSchema) -> list[str]:
    """Return the type of the second argument, if it is a word that an overload may be called."""
    return [word for argument in schema.positional[1:2] if (word := str(argument.type)).isidentifier()]


def out_problem(schema: FunctionSchema) -> str | None:
    """Return why no out variant can be made of `schema`, if so."""
    if schema.kind is SchemaKind.INPLACE:
        return None
    tensors = [result for result in schema.returns if result.type.is_tensor_like]
    if not tensors:
        return "it returns no tensor"
    if len(tensors) != len(schema.returns):
        return "it returns something else beside tensors"
    return None


def out_schema(schema: FunctionSchema, name: OperatorName) -> FunctionSchema:
    """Return the out variant of any other: a written keyword argument for each result.

    The result of an in-place operator is its `self`. Tensor options (dtype, device, …) are dropped: the buffers say
    these. Lists of tensors are filled and not returned.
    """
    if schema.kind is SchemaKind.INPLACE:
        this = schema.self_argument
        assert this is not None  # what makes the schema in-place
        arguments = tuple(_bare(a) if a is this else a for a in schema.arguments)
        out = replace(this, name="out", default=None, kwarg_only=True)
        return FunctionSchema(name, (*arguments, out), schema.returns)
    kept = schema.arguments
    if schema.kind is SchemaKind.FUNCTIONAL:
        kept = schema.signature(keep_defaults=True).arguments
    outs = tuple(_outs(schema))
    plain = all(result.type == _TENSOR for result in schema.returns)
    returns = tuple(Return(None, out.type, out.annotation) for out in outs) if plain else ()
    return FunctionSchema(name, (*kept, *outs), returns)


def _outs(schema: FunctionSchema) -> Iterator[Argument]:
    taken = {letter for a in schema.arguments if a.annotation is not None for letter in a.annotation.before}
    free = [letter for letter in string.ascii_lowercase if letter not in taken]
    # More results than letters: sets may have longer names too.
    free += [f"out{index}" for index in range(len(free), len(schema.returns))]
    for index, (result, letter) in enumerate(zip(schema.returns, free, strict=False)):
        name = "out" if len(schema.returns) == 1 else f"out{index}"
        yield Argument(name, result.type, None, Annotation((letter,), True), kwarg_only=True)


def inplace_problem(schema: FunctionSchema) -> str | None:
    """Return why no in-place variant can be made of the functional `schema`, if so."""
    this = schema.self_argument
    if this is None or this.type not in (_TENSOR, _TENSORS):
        return "it has no positional argument 'Tensor self'"
    if [result.type for result in schema.returns] != [this.type]:
        return f"it does not return one {this.type}, as its self is"
    return None


def inplace_schema(schema: FunctionSchema, name: OperatorName) -> FunctionSchema:
    """Return the in-place variant of a functional operator: it writes `self` and returns it, unless that is a list."""
    this = schema.self_argument
    assert this is not None  # inplace_problem has said so
    written = replace(this, annotation=Annotation(("a",), True))
    arguments = tuple(written if a is this else _bare(a) for a in schema.arguments)
    returns = (Return(None, _TENSOR, written.annotation),) if this.type == _TENSOR else ()
    return FunctionSchema(name, arguments, returns)


def _bare(argument: Argument) -> Argument:
    return replace(argument, annotation=None, list_annotations=()) if argument.annotations else argument
