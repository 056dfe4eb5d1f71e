"""The choice of what computes a kernel: the function that defines it, or the compiled core around it.

The functions of `runtime/fast/kernels` have the names of functions here. They serve NumPy's arrays of float32 or
float64 that lie row by row; the Python serves all others, and whatever is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from opwright.core import fast

__all__ = ["compiled"]

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Return the kernel in C that has the function's name, which calls the function for what it does not serve; the
    function where the core is not built, or is not wanted."""
    if fast is None:
        return function
    made: Function = fast.Compiled(function)
    return made
