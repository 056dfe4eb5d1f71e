"""Calls of PyTorch's operators by kernels `torch:NAMESPACE::NAME`. PyTorch is loaded at the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright_core.names.late_imports import import_late

__all__ = ["call_torch"]

_functions: dict[str, Callable[..., Any]] = {}


def call_torch(name: str, *values: Any) -> Any:
    """Return what PyTorch's operator of that name gives for all its arguments, Tensors of ours, in order.

    Raises ImportError without PyTorch, RuntimeError where it has no such operator.
    """
    function = _functions.get(name)
    if function is None:
        function = _functions.setdefault(name, _found(name))
    return function(*values)


def _found(name: str) -> Callable[..., Any]:
    try:
        module = import_late("opwright_bindings.torch.runtime.calls")
    except ImportError as error:
        if error.__class__.__name__ != "FrameworkMissing":
            raise
        raise ImportError(f"the kernel torch:{name} calls PyTorch, which is not installed: pip install torch") from None
    found: Callable[..., Any] = module.function_of(name)
    return found
