"""`wraps`: `functools.wraps`, and docstrings that are made when someone asks for them stay so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Final, TypeVar

__all__ = ["wraps"]

Wrapper = TypeVar("Wrapper", bound=Callable[..., Any])
_NAMES: Final = tuple([name for name in functools.WRAPPER_ASSIGNMENTS if name != "__doc__"])


def wraps(function: Callable[..., Any]) -> Callable[[Wrapper], Wrapper]:
    """Return `functools.wraps(function)`. The docstring of a generated function is asked for when the wrapper's is: its
    package imports all docstrings to make one, and the wrapper may be part of a program's first call."""
    kind = type(function)  # (compiled functions name Python's class of functions as theirs)
    if kind is FunctionType or isinstance(vars(kind).get("__doc__"), str | None):
        return functools.wraps(function)  # type: ignore[return-value]

    def decorate(wrapper: Wrapper) -> Wrapper:
        shown: Any = functools.update_wrapper(_Documented(wrapper), function, _NAMES)
        return shown  # type: ignore[no-any-return]

    return decorate


class _ShownDocstring:
    """The `__doc__` of a wrapper: its own if it was given one, else that of what it wraps, as it is then."""

    def __get__(self, wrapper: Any, owner: type) -> Any:
        if wrapper is None:
            return "A wrapper that is a function to those who ask, with the docstring of what it wraps."
        own = vars(wrapper)
        return own["__doc__"] if "__doc__" in own else own["__wrapped__"].__doc__

    def __set__(self, wrapper: Any, text: str | None) -> None:
        vars(wrapper)["__doc__"] = text


class _Documented(functools.partial[Any]):
    __class__ = property(lambda self: FunctionType)  # as compiled functions say
    __doc__ = _ShownDocstring()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.func, name)

    def __repr__(self) -> str:
        return repr(self.func)
