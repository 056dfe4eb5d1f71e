"""The parameters of a function, with their annotations evaluated."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections import ChainMap
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import opwright.types
from opwright.errors import SchemaInferenceError
from opwright.library.schema_inference.error_positions import inference_error
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import DType
from opwright_core.tensors.tensor import Tensor

__all__ = ["NOTHING", "Parameter", "read_parameters"]

NOTHING: Final = inspect.Parameter.empty  # where an annotation or a default is left out
_VARIABLE: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
# What quoted annotations may name without importing it.
_KNOWN: Final[dict[str, Any]] = {
    "Tensor": Tensor,
    "dtype": DType,
    "device": Device,
    "types": opwright.types,
    "Optional": typing.Optional,
    "List": list,
    "Sequence": typing.Sequence,
    "Union": typing.Union,
}


class Parameter(NamedTuple):
    """A parameter; annotation and default may be NOTHING."""

    name: str
    annotation: Any
    default: Any
    kwarg_only: bool


def read_parameters(function: Callable[..., Any]) -> tuple[list[Parameter], Any]:
    """Return the parameters of a function, and the annotation of what it returns; quoted annotations evaluated."""
    if type(function) is types.FunctionType and not function.__dict__ and not function.__code__.co_flags & _VARIABLE:
        code = function.__code__
        if not code.co_posonlyargcount:
            return _of_code(function, code)
    if not isinstance(function, types.FunctionType | types.MethodType):
        raise SchemaInferenceError(
            f"a schema can be inferred from a Python function alone, not from {_kind(function)}: it has no "
            "annotated parameters to read\nhint: write a function with annotations that calls it, or give a schema"
        )
    signature = inspect.signature(function)
    found = []
    for name, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            kind = "positional-only" if parameter.kind is parameter.POSITIONAL_ONLY else "variable"
            message = f"parameter '{name}' is {kind}, and a schema has no positional-only args, varargs or varkwargs"
            raise inference_error(function, name, "parameter-kind", message, "list every parameter by name")
        annotation = _evaluated(function, name, parameter.annotation)
        found.append(Parameter(name, annotation, parameter.default, parameter.kind is parameter.KEYWORD_ONLY))
    return found, _evaluated(function, "return", signature.return_annotation)


def _of_code(function: types.FunctionType, code: types.CodeType) -> tuple[list[Parameter], Any]:
    """Read the parameters of a plain function, at a tenth of what `inspect.signature` takes."""
    annotations = function.__annotations__
    positional = code.co_argcount
    defaults = function.__defaults__ or ()
    first_default = positional - len(defaults)
    keyword_defaults = function.__kwdefaults__ or {}
    found = []
    for position, name in enumerate(code.co_varnames[: positional + code.co_kwonlyargcount]):
        kwarg_only = position >= positional
        default = keyword_defaults.get(name, NOTHING) if kwarg_only else NOTHING
        if first_default <= position < positional:
            default = defaults[position - first_default]
        found.append(Parameter(name, _evaluated(function, name, annotations.get(name, NOTHING)), default, kwarg_only))
    return found, _evaluated(function, "return", annotations.get("return", NOTHING))


def _kind(function: Any) -> str:
    if isinstance(function, type):
        return f"the class {function.__name__}"
    if inspect.isroutine(function) and not isinstance(function, functools.partial):  # a routine from Python 3.14 on
        return f"the builtin {function!r}"
    return f"a {type(function).__name__} object" if callable(function) else f"{function!r}, which cannot be called"


def _evaluated(function: Callable[..., Any], name: str, annotation: Any) -> Any:
    """Return the annotation, with what is quoted in it evaluated in the function's module, as far as it can be."""
    if not isinstance(annotation, str) and not typing.get_args(annotation):
        return annotation
    holder = types.SimpleNamespace(__annotations__={name: annotation})
    module = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return typing.get_type_hints(holder, module, ChainMap(module, _KNOWN))[name]
    except Exception as error:  # whatever evaluating somebody's expression raises
        what = f"the return annotation {annotation!r}" if name == "return" else f"{annotation!r} of parameter '{name}'"
        message = f"{what} cannot be read. It is not a type ({type(error).__name__}: {error})"
        hint = "quoted annotations are read in the function's module: a type must be known there, not in a function"
        raise inference_error(function, name, "annotation", message, hint) from None
