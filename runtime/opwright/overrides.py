"""Classes that handle functions by `__torch_function__`: the names of `torch.overrides`, and those that switch it off.

`opwright.Tensor.__torch_function__` keeps the class of an instance: `type(x.as_subclass(S) + 1)` is S.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from opwright.context_managers.keys import exclude_keys
from opwright.python_dispatch.overrides import (
    TorchFunctionMode,
    ask,
    disabled_torch_function,
    handles_functions,
    has_torch_function,
    is_disabled,
    overloaded_arguments,
)
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "DisableTorchFunctionSubclass", "TorchFunctionMode", "disabled_torch_function", "handle_torch_function",
    "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "wrap_torch_function",
]  # fmt: skip

Function = Callable[..., Any]


def DisableTorchFunctionSubclass() -> Any:
    """Return a block in which no class is asked about functions: results are plain Tensors. In PyTorch it is
    `torch._C.DisableTorchFunctionSubclass`."""
    return exclude_keys("PreDispatch")


def has_torch_function_unary(obj: object) -> bool:
    """Whether the class of a value is asked about functions that are called with it."""
    return not is_disabled() and handles_functions(type(obj))


def has_torch_function_variadic(*relevant_args: object) -> bool:
    """Whether the class of one of the values is asked about functions that are called with them."""
    return has_torch_function(relevant_args)


def handle_torch_function(public_api: Function, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Ask the classes of `relevant_args` what a call of the function returns. Raises TypeError where all return
    NotImplemented."""
    return ask(overloaded_arguments(relevant_args), public_api, args, kwargs)


def is_tensor_like(inp: object) -> bool:
    """Whether a value is a Tensor, or of a class with `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Function], Function]:
    """Return a decorator of functions that asks classes first, those of what `dispatcher` returns of the arguments."""

    def decorated(function: Function) -> Function:
        @functools.wraps(function)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return asking

    return decorated
