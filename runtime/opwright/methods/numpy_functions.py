"""NumPy's functions and ufuncs on Tensors: by the operator of the same meaning, which records; else on their arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from opwright.ground.questions import hooks
from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["call_function", "call_ufunc"]

# Ufuncs whose operator has another name; what has the same name may mean something else, or is none.
_UFUNCS: Final = {
    "absolute": "abs", "power": "pow", "invert": "bitwise_not", "left_shift": "bitwise_left_shift", "equal": "eq",
    "right_shift": "bitwise_right_shift", "rint": "round", "conjugate": "conj",
}  # fmt: skip
_SAME: Final = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "float_power", "negative", "positive",
    "sqrt", "square", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2",
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh",
    "arctanh", "hypot", "maximum", "minimum", "fmax", "fmin", "floor", "ceil", "trunc", "sign", "signbit", "copysign",
    "nextafter", "isnan", "isinf", "isfinite", "less", "less_equal", "greater", "greater_equal", "not_equal",
    "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "matmul",
    "deg2rad", "rad2deg", "gcd", "lcm", "heaviside",
)  # fmt: skip
# Functions whose counterpart in the Array API's namespace has another name, or the same.
_RENAMED: Final = {
    "amax": "max", "amin": "min", "concatenate": "concat", "cumsum": "cumulative_sum", "cumprod": "cumulative_prod",
}  # fmt: skip
_FUNCTIONS: Final = (
    *_RENAMED,
    "sum", "mean", "std", "var", "prod", "max", "min", "any", "all", "argmax", "argmin", "stack", "where", "sort",
    "flip", "roll", "reshape", "expand_dims", "squeeze", "clip", "moveaxis", "tile", "repeat", "broadcast_to", "take",
    "tensordot", "diff", "tril", "triu",
)  # fmt: skip
_OPTIONS: Final = {"ddof": "correction", "a_min": "min", "a_max": "max", "newshape": "shape", "reps": "repetitions"}
_WRITING: Final = ("copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal")


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return what a ufunc gives for Tensors: Tensors, or the arrays or Tensors of `out`.

    Without options but `out` it is the operator of the same meaning. Raises RuntimeError where NumPy would compute what
    has to be recorded.
    """
    written = options.pop("out", ())
    name = ufunc.__name__
    own = _UFUNCS.get(name, name if name in _SAME else "")
    if own and method == "__call__" and not options and getattr(np, name, None) is ufunc:
        result = aten[own](*map(_operand, inputs))
    else:
        result = _computed(ufunc, method, inputs, options, written)
    if not written or result is None:
        return result
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(written, results, strict=True):
        _write(target, value)
    return written[0] if len(written) == 1 else written


def _operand(value: Any) -> Any:
    return value if isinstance(value, (Tensor, np.ndarray, int, float, complex)) else np.asarray(value)


def _computed(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any], written: tuple[Any, ...]
) -> Any:
    """Return what NumPy computes of the arrays: elements that `where` leaves out are those of `out`."""
    if method == "at":
        target = inputs[0].numpy().copy()
        ufunc.at(target, *map(_plain, inputs[1:]), **options)
        inputs[0].copy_(wrap(target))
        return None
    given = {key: _plain(value) for key, value in options.items()}
    if written and given.get("where", True) is not True:
        given["out"] = tuple([None if each is None else np.array(_plain(each)) for each in written])
    return _wrapped(getattr(ufunc, method)(*map(_plain, inputs), **given))


def _write(target: Any, value: Any) -> None:
    if isinstance(target, Tensor):
        target.copy_(value)  # which counts in its version
    elif target is not None:
        target[...] = _plain(value)


def call_function(
    function: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return what a function of NumPy gives for Tensors: Tensors for arrays.

    Where the Array API's namespace has the function, and all options, it is that. Raises TypeError for functions that
    write to an argument; RuntimeError where NumPy would compute what has to be recorded.
    """
    if not all(issubclass(kind, (Tensor, np.ndarray)) for kind in types):
        return NotImplemented
    name = function.__name__
    if name in _WRITING:
        raise TypeError(f"np.{name} writes to its argument: use the methods of Tensor, x.copy_() or x[...] = value")
    target = kwargs.get("out")
    given = {key: value for key, value in kwargs.items() if key != "out"}
    result = _by_operator(function, args, given) if name in _FUNCTIONS and function is getattr(np, name, None) else None
    if result is None:
        result = _wrapped(function(*_mapped(args, _plain), **_mapped(given, _plain)))
    if target is None:
        return result
    _write(target, result)
    return target


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _by_operator(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what the function of the Array API's namespace gives; None where that has not all options."""
    own = getattr(hooks.tools().array_namespace(), _RENAMED.get(function.__name__, function.__name__))
    accepted = _signature(own).parameters
    bound = _signature(function).bind(*args, **kwargs)
    positional, named = [], {}
    for position, (name, value) in enumerate(bound.arguments.items()):
        if position == 0 or (name not in accepted and name in ("x", "y", "indices", "b", "k", "condition")):
            positional.append(_mapped(value, _tensor))
        elif value is None or value is np._NoValue:
            continue
        elif _OPTIONS.get(name, name) in accepted:
            named[_OPTIONS.get(name, name)] = _mapped(value, _tensor) if isinstance(value, np.ndarray) else value
        else:
            return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    for name in [each for each in list(named) if accepted[each].kind is inspect.Parameter.POSITIONAL_ONLY]:
        positional.append(named.pop(name))
    if len(positional) > sum(each.kind in kinds for each in accepted.values()):
        return None
    try:
        return own(*positional, **named)
    except (TypeError, ValueError):
        return None  # the standard has no such call: NumPy computes it, or says what is wrong


def _tensor(value: Any) -> Any:
    return wrap(value) if isinstance(value, np.ndarray) else value


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(each, function) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)([_mapped(each, function) for each in value])
    return function(value)


def _plain(value: Any) -> Any:
    """Return the array of a Tensor. Raises RuntimeError where its gradient would end there."""
    return value.__array__() if isinstance(value, Tensor) else value


def _wrapped(result: Any) -> Any:
    if isinstance(result, (list, tuple)) and any(isinstance(each, (np.ndarray, np.generic)) for each in result):
        items = map(_wrapped, result)
        return type(result)(items) if type(result) in (list, tuple) else type(result)(*items)
    return wrap(np.asarray(result)) if isinstance(result, (np.ndarray, np.generic)) else result
