"""NumPy's functions on Tensors: operators if `array_api.numpy_table` has the call, else NumPy on the arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from opwright.methods.numpy_ufuncs import REFUSALS, Unmapped, write_out
from opwright.methods.numpy_values import Computation
from opwright.names.late_bound import late_bound
from opwright_core.tensors.tensor import Tensor

__all__ = ["call_function"]

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_WRITING: Final = ("copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal")


def call_function(
    function: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return what a function of NumPy gives for Tensors: Tensors for arrays.

    Operators compute it if `array_api.numpy_table` has the function with these arguments. Raises TypeError for
    functions that write to a Tensor; RuntimeError if NumPy would have to compute what has to be recorded.
    """
    if not all(issubclass(kind, (Tensor, np.ndarray)) for kind in types):
        return NotImplemented
    name = function.__name__
    if name in _WRITING and isinstance(args[0] if args else next(iter(kwargs.values())), Tensor):
        raise TypeError(f"np.{name} writes to its argument: use the methods of Tensor, x.copy_() or x[...] = value")
    args, given = _by_keywords_from_out(function, args, kwargs)
    target = given.pop("out", None)
    refused: Exception | None = None
    if getattr(np, name, None) is function:
        try:
            return write_out(
                target, late_bound.tools().array_namespace().numpy_table.by_operators(name, args, given), is_exact=True
            )
        except Unmapped:
            pass
        except REFUSALS as error:
            refused = error
    if target is not None:
        given["out"] = target
    return Computation().run(function, args, given, refused)


def _by_keywords_from_out(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, with `out` and what is behind it by keywords."""
    names = _positional(function)
    position = names.index("out") if "out" in names else len(args)
    return args[:position], {**kwargs, **dict(zip(names[position:], args[position:], strict=False))}


@functools.cache
def _positional(function: Callable[..., Any]) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    return tuple([each.name for each in parameters if each.kind in _POSITIONAL])
