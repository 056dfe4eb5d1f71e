"""Factories as callers have them: with `requires_grad`, which is no argument of the operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright.creation.checks import check_differentiable
from opwright.creation.names import FACTORIES
from opwright.names.lazy_docstrings import wraps
from opwright_core.core import fast
from opwright_core.tensors.tensor import Tensor

__all__ = ["FACTORIES", "METHODS", "function", "method", "requires_grad_of"]

Function = Callable[..., Any]
METHODS: Final = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros")


def _with_requires_grad(function: Function) -> Function:
    """Return the function of a factory that also takes `requires_grad`: whether the result is a leaf requiring grad.

    It raises RuntimeError where that is asked of integers or bools, TypeError for anything but True, False and None.
    """

    @wraps(function)
    def factory(*args: Any, requires_grad: bool | None = None, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        return made if requires_grad is None else requires_grad_of(function.__name__, made, requires_grad)

    served: Function = factory if fast is None else fast.Factory(factory, function)
    return served


def requires_grad_of(name: str, made: Any, requires_grad: bool) -> Any:
    """Return a new tensor that requires grad if that is asked. `name` is that of the function that made it."""
    if type(requires_grad) is not bool:
        raise TypeError(f"{name}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if requires_grad:
        if not isinstance(made, Tensor):
            raise TypeError(f"{name}(): a plain array cannot require grad: pass a Tensor")
        check_differentiable(made.dtype, "Only Tensors of floating point and complex dtype can require gradients")
        made.requires_grad_()
    return made


def function(name: str, found: Function) -> Function:
    """Return the function of an operator as callers have it."""
    return _with_requires_grad(found) if name in FACTORIES else found


def method(operators: Any, name: str) -> Function:
    """Return the method that is one of the `operators`, those of a namespace."""
    return _with_requires_grad(getattr(operators, name).stub)
