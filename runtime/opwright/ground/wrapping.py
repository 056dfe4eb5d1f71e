"""`wraps`: `functools.wraps` without docstrings that are made when someone asks for them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeVar

__all__ = ["wraps"]

Wrapper = TypeVar("Wrapper", bound=Callable[..., Any])
_NAMES: Final = tuple([name for name in functools.WRAPPER_ASSIGNMENTS if name != "__doc__"])


def wraps(function: Callable[..., Any]) -> Callable[[Wrapper], Wrapper]:
    """Return `functools.wraps(function)`. The docstring of a generated function is left out: its package imports all
    docstrings to make one, and the wrapper may be part of a program's first call."""
    kind = type(function)  # (compiled functions name Python's class of functions as theirs)
    is_kept = kind is FunctionType or isinstance(vars(kind).get("__doc__"), str | None)
    names = functools.WRAPPER_ASSIGNMENTS if is_kept else _NAMES
    wrapped: Callable[[Wrapper], Wrapper] = functools.wraps(function, names)  # type: ignore[assignment]
    return wrapped
