"""`infer_schema`: the schema that a function's annotations say. Semantics: `torch.library.infer_schema`."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from types import NoneType
from typing import Any

from opwright.errors import SchemaInferenceError
from opwright.library.schema_inference.error_positions import inference_error
from opwright.library.schema_inference.parameters import NOTHING, Parameter, read_parameters
from opwright.library.schema_inference.tagged import Argument, tagged_returns
from opwright.library.schema_inference.types_of_annotations import (
    PARAMETERS,
    RESULTS,
    advice,
    holds_arrays,
    parameter_type,
    result_type,
    tuple_items,
    written_default,
)
from opwright.metadata.tags import as_tags

__all__ = ["InferredSchema", "annotated_arrays", "infer", "infer_schema"]


@dataclass(frozen=True, slots=True)
class InferredSchema:
    """A schema without a name, `(Tensor x, SymInt n=2) -> Tensor`, and what else the annotations say.

    `mutated` and `arrays` are positions: of the arguments that are written to, and of those annotated as arrays, which
    the function wants to be given as such. `returns_arrays` says that results are annotated so.
    """

    declaration: str
    mutated: tuple[int, ...]
    arrays: tuple[int, ...]
    returns_arrays: bool


def infer_schema(
    function: Callable[..., Any],
    /,
    *,
    mutates_args: Iterable[str],
    op_name: str | None = None,
    tags: str | Iterable[str] | None = (),
) -> str:
    """Return the schema that a function's annotations say, `op_name(Tensor x, *, float eps=0.5) -> Tensor`.

    `mutates_args` are the names of the arguments that the function writes to, or "unknown" for all Tensors. With the
    tag `inplace` or `out` the result is the argument written to. No other result may share memory with an argument.
    Raises ValueError where an annotation is missing or means no type of a schema, and shows the parameter.
    """
    return f"{op_name or ''}{infer(function, mutates_args, tags).declaration}"


def infer(
    function: Callable[..., Any], mutates_args: Iterable[str], tags: str | Iterable[str] | None = ()
) -> InferredSchema:
    """Return the schema of a function, in parts. Raises ValueError, as `infer_schema` does."""
    parameters, result = read_parameters(function)
    mutated = _mutated(function, mutates_args, parameters)
    arguments = [_argument(function, parameter, mutated) for parameter in parameters]
    returns = _returns(function, result)
    if tags:
        returns = tagged_returns(function, as_tags(tags), arguments, returns)
    texts = [argument.text(position) for position, argument in enumerate(arguments)]
    kwarg_only = sum(not argument.kwarg_only for argument in arguments)
    if kwarg_only < len(texts):
        texts.insert(kwarg_only, "*")
    return InferredSchema(
        declaration=f"({', '.join(texts)}) -> {returns}",
        mutated=tuple(position for position, argument in enumerate(arguments) if argument.is_mutated),
        arrays=tuple(position for position, parameter in enumerate(parameters) if holds_arrays(parameter.annotation)),
        returns_arrays=holds_arrays(result),
    )


def annotated_arrays(function: Callable[..., Any]) -> tuple[tuple[int, ...], bool]:
    """Return which parameters are annotated as arrays, and whether results are, whatever else the annotations say."""
    try:
        parameters, result = read_parameters(function)
    except (SchemaInferenceError, TypeError, ValueError):  # a schema that is written out needs no annotations
        return (), False
    places = tuple(position for position, each in enumerate(parameters) if holds_arrays(each.annotation))
    return places, holds_arrays(result)


def _mutated(
    function: Callable[..., Any], mutates_args: Iterable[str], parameters: list[Parameter]
) -> frozenset[str] | None:
    """Return the names of the arguments written to; None for all Tensors."""
    if isinstance(mutates_args, str):
        if mutates_args == "unknown":
            return None
        raise SchemaInferenceError(
            f"mutates_args is a sequence of names of arguments, or the string 'unknown', not {mutates_args!r}"
        )
    mutated = frozenset(mutates_args)
    missing = sorted(mutated.difference(parameter.name for parameter in parameters))
    if missing:
        names = ", ".join(map(repr, missing))
        message = f"{names} in mutates_args {'were' if missing[1:] else 'was'} not found among the parameters"
        hint = "mutates_args holds the names of the parameters that are written to, or is the string 'unknown'"
        raise inference_error(function, "", "mutates-args", message, hint)
    return mutated


def _argument(function: Callable[..., Any], parameter: Parameter, mutated: frozenset[str] | None) -> Argument:
    name = parameter.name
    text = _type_of(function, parameter)
    is_mutated = text.startswith("Tensor") if mutated is None else name in mutated
    if is_mutated and not text.startswith("Tensor"):
        message = f"parameter '{name}' is in mutates_args, but only Tensors or lists of Tensors can be mutated"
        raise inference_error(function, name, "mutates-args", message, "leave it out of mutates_args")
    if parameter.default is NOTHING:
        return Argument(name, text, "", parameter.kwarg_only, is_mutated)
    if parameter.default is None and not text.endswith("?"):
        text += "?"
    try:
        default = written_default(parameter.default, text)
    except (TypeError, RuntimeError) as error:
        message = f"parameter '{name}' has a default value that its type, {text}, does not take: {error}"
        hint = f"defaults are None, numbers, strings, dtypes, devices and lists of these; {text} needs one of its own"
        raise inference_error(function, name, "default", message, hint) from None
    return Argument(name, text, f"={default}", parameter.kwarg_only, is_mutated)


def _type_of(function: Callable[..., Any], parameter: Parameter) -> str:
    annotation = parameter.annotation
    if annotation is NOTHING:
        message = f"parameter '{parameter.name}' must have a type annotation"
        raise inference_error(function, parameter.name, "annotation", message, f"write one of {PARAMETERS}")
    found = parameter_type(annotation)
    if found is None:
        instead = advice(annotation)
        hint = f"{instead}; " if instead else ""
        message = f"parameter '{parameter.name}' has unsupported type {annotation!r}"
        raise inference_error(function, parameter.name, "type", message, f"{hint}the valid types are {PARAMETERS}")
    return found


def _returns(function: Callable[..., Any], annotation: Any) -> str:
    if annotation is None or annotation is NoneType:
        return "()"
    if annotation is NOTHING:
        message = "no return type annotation was provided"
        raise inference_error(function, "return", "return", message, f"write one of {RESULTS}")
    items = tuple_items(annotation)
    found = [result_type(item) for item in ((annotation,) if items is None else items)]
    if None in found:
        message = f"the return has unsupported type {annotation!r}"
        of = annotation if isinstance(annotation, type) else typing.get_origin(annotation)
        holds_several = isinstance(of, type) and (issubclass(of, Mapping) or is_dataclass(of))
        hint = "return what it holds as tuple[...]; " if holds_several else ""
        raise inference_error(function, "return", "return", message, f"{hint}the valid types are {RESULTS}")
    if items is None:
        return str(found[0])
    inner = ", ".join(map(str, found))
    return f"(({inner}))" if len(items) == 1 else f"({inner})"
