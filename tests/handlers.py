"""A dispatch mode that notes calls, and a Tensor subclass that holds a tensor."""

from __future__ import annotations

from typing import Any, ClassVar

from opwright import Tensor
from opwright.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing


class Log(TorchDispatchMode):
    """Notes each call, and goes on."""

    def __init__(self, name: str = "", log: list[Any] | None = None) -> None:
        self.name = name
        self.log: list[Any] = [] if log is None else log

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.log.append((self.name, str(func), len(args), dict(kwargs)))
        return func(*args, **kwargs)


class Wrapper(Tensor):
    """Holds a tensor, and hands every operator on to it."""

    __slots__ = ("elem",)
    elem: Tensor
    calls: ClassVar[list[str]] = []

    @staticmethod
    def __new__(cls: Any, elem: Tensor) -> Any:
        made = Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype, device=elem.device)
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(str(func))
        out = func(*map(unwrapped, args), **{name: unwrapped(value) for name, value in kwargs.items()})
        return return_and_correct_aliasing(func, args, kwargs, wrapped(cls, out))


def unwrapped(value: Any) -> Any:
    if isinstance(value, list):
        return [unwrapped(each) for each in value]
    return value.elem if isinstance(value, Wrapper) else value


def wrapped(cls: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(wrapped(cls, each) for each in value)
    return cls(value) if isinstance(value, Tensor) else value
