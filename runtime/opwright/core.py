"""The choice of what runs calls: the compiled core, `opwright._fast`, or the Python that says what it has to do.

`runtime/fast/README.md` says what is compiled. It serves what is common, and hands everything else to the Python.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

__all__ = ["VERSION", "Caller", "Core", "NodeBase", "SizeBase", "TensorBase", "compiled", "core", "fast"]

VERSION: Final = 12  # of what Python code and the extension agree on: `CORE_VERSION` in runtime/fast/core.h
_MODULE: Final = "opwright._fast"
_SWITCH: Final = "OPWRIGHT_PURE"
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Core(NamedTuple):
    """The answer of `opwright.dispatch.core()`: "fast" or "python", and why."""

    name: str
    reason: str


def _load() -> tuple[Any, str]:
    """Return the extension and why it serves; None and why it does not."""
    if os.environ.get(_SWITCH, "0") not in ("", "0"):
        return None, f"{_SWITCH}={os.environ[_SWITCH]} is set"
    try:
        found: Any = import_module(_MODULE)
    except ModuleNotFoundError:
        return None, _warned(f"{_MODULE} is not built: {_reason_of_the_build()}")
    except ImportError as error:
        return None, _warned(f"{_MODULE} cannot be loaded: {error}")
    if found.VERSION != VERSION:
        reason = (
            f"{_MODULE} has version {found.VERSION}, and this Opwright needs {VERSION}: build it again with "
            "`make generate` or `pip install`"
        )
        return None, _warned(reason)
    return found, f"{_MODULE} is built"


def _reason_of_the_build() -> str:
    """Return what setup.py wrote where it built none."""
    try:
        return Path(__file__).with_name("_fast_missing.txt").read_text("utf-8").strip()
    except OSError:
        return "`make generate` or `pip install` does it, where there is a C compiler"


def _warned(reason: str) -> str:
    """Return the reason, after a warning: calls take several times as long without the core, which nobody asked for."""
    warnings.warn(f"{reason}. Python runs in its place, slower.", RuntimeWarning, stacklevel=2)
    return reason


fast, _reason = _load()


class TensorBase:
    """The slots of a Tensor (`opwright.tensors.tensor`)."""

    __slots__ = ("__weakref__", "array", "edge", "extra", "keys")
    array: Any
    keys: int
    edge: Any
    extra: Any


class NodeBase:
    """The slots of a node."""

    __slots__ = ("dtype", "edges", "extra", "sequence", "shape")


class Caller:
    """The base of what passes calls on to a function, from a slot: none of ours stands in between."""

    __slots__ = ("__call__",)
    __call__: Callable[..., Any]

    def _pass_calls_to(self, function: Callable[..., Any]) -> None:
        """Have a function serve calls."""
        self.__call__ = function


class SizeBase(tuple[int, ...]):
    """The base of shapes, by which C gives what they have at a place."""

    __slots__ = ()


if fast is not None and not TYPE_CHECKING:
    TensorBase, NodeBase, Caller, SizeBase = fast.TensorBase, fast.NodeBase, fast.Caller, fast.SizeBase


def core() -> Core:
    """Return what runs calls in this process, "fast" or "python", and why."""
    return Core("python" if fast is None else "fast", _reason)


def compiled(function: _Function) -> _Function:
    """Return the kernel in C that has the function's name (`runtime/fast/kernels`), which calls the function for what
    it does not serve; the function itself where Python runs."""
    if fast is None:
        return function
    made: _Function = fast.Compiled(function)
    return made
