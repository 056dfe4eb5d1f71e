"""Further functions of a custom operator, whose parameters may be others than the operator's: fewer, with defaults of
their own, or for arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from opwright.errors import SchemaInferenceError
from opwright.library.schema_inference import infer
from opwright_core.dispatch.call.operator import Operator

__all__ = ["arrays_wanted", "given_defaults", "without_defaults"]

Function = Callable[..., Any]


def without_defaults(operator: Operator, function: Function) -> Function:
    """Return a kernel, which rendered code calls with every argument, called without those that equal their defaults,
    unless its parameters have none."""
    if not isinstance(function, FunctionType) or _takes_all(operator, function):
        return function
    called = given_defaults(operator, function)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        positional, named = operator.signature.split((*args, *keywords.values()))
        return called(*positional, **named)

    return call


def _takes_all(operator: Operator, function: FunctionType) -> bool:
    code, count = function.__code__, operator.signature.positional
    has_defaults = function.__defaults__ or function.__kwdefaults__
    return not has_defaults and code.co_argcount == count and code.co_kwonlyargcount == len(operator.arguments) - count


def given_defaults(operator: Operator, function: Function) -> Function:
    """Return a function that is called without arguments that equal their defaults, given these where it declares a
    parameter without one."""
    code = getattr(function, "__code__", None)
    if code is None:
        return function
    end = code.co_argcount
    first = end - len(getattr(function, "__defaults__", None) or ())  # that has a default
    own = getattr(function, "__kwdefaults__", None) or {}
    needed = [name for name in code.co_varnames[end : end + code.co_kwonlyargcount] if name not in own]

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        signature = operator.signature
        for name in needed:
            if name not in keywords and name in signature.names:
                keywords[name] = signature.defaults[signature.names.index(name)]
        return function(*args, *signature.defaults[len(args) : first], **keywords)

    return call


def arrays_wanted(function: Function) -> tuple[tuple[int, ...], bool]:
    """Return which parameters a further kernel takes as arrays, and whether it returns arrays, where it says so."""
    if not isinstance(function, FunctionType) or len(function.__annotations__) <= function.__code__.co_argcount:
        return (), False
    try:
        found = infer(function, ())
    except SchemaInferenceError:  # its annotations need say no schema: the operator has one
        return (), False
    return found.arrays, found.returns_arrays
