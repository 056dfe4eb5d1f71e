"""The choice of what runs calls: the compiled core, `opwright_core._fast` (`fast/README.md`), or the Python.

Kernels in C of another package's functions are its extension `_native`, which is loaded with the first of them.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

__all__ = [
    "VERSION", "Caller", "Core", "NodeBase", "OperatorBase", "SizeBase", "TensorBase", "compiled", "core", "fast",
]  # fmt: skip

VERSION: Final = 18  # of what Python code and the extensions agree on: the build tells it C
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Core(NamedTuple):
    """The core that runs calls: "fast", "partial" or "python"; and the reason."""

    name: str
    reason: str


@cache
def _load(name: str) -> tuple[Any, str]:
    """Return an extension and why it is used; None and why it is not. The core takes the kernels that it has."""
    if (switch := os.environ.get("OPWRIGHT_PURE", "")) not in ("", "0"):
        return None, f"OPWRIGHT_PURE={switch} is set"
    try:
        found: Any = import_module(name)
    except ModuleNotFoundError:
        return None, _warned(f"{name} is not built: {_reason_of_the_build(name)}")
    except ImportError as error:
        return None, _warned(f"{name} cannot be loaded: {error}")
    if found.VERSION != VERSION:
        again = "build it again with `make generate` or `pip install`"
        return None, _warned(f"{name} has version {found.VERSION}, and this Opwright needs {VERSION}: {again}")
    if hasattr(found, "kernels"):
        fast.add_kernels(found.kernels)
    return found, f"{name} is built"


def _reason_of_the_build(name: str) -> str:
    """Return the reason that the build wrote where it could not build the extension."""
    package, _, module = name.rpartition(".")
    found = Path(sys.modules[package].__path__[0], f"{module}_missing.txt")
    otherwise = "`make generate` or `pip install` does it, where there is a C compiler"
    return found.read_text("utf-8").strip() if found.exists() else otherwise


def _warned(reason: str) -> str:
    """Warn of a reason, and return it: calls take several times as long, which nobody asked for."""
    message = f"{reason}. Python runs in its place, slower."
    warnings.warn_explicit(message, RuntimeWarning, __file__, 1, module="opwright")  # which no filter of ours ignores
    return reason


fast, _reason = _load("opwright_core._fast")


class TensorBase:
    """The slots of a Tensor (`opwright_core.tensors.tensor`)."""

    __slots__ = ("__dict__", "__weakref__", "array", "edge", "extra", "keys")
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
        """Have a function handle calls."""
        self.__call__ = function


class OperatorBase:
    """The slots of an operator that C reads."""

    __slots__ = ("straight_stub",)
    straight_stub: Callable[..., Any] | None


class SizeBase(tuple[int, ...]):
    """The base of shapes, by which C gives what they have at a position."""

    __slots__ = ()


if fast is not None and not TYPE_CHECKING:
    TensorBase, NodeBase, Caller, SizeBase = fast.TensorBase, fast.NodeBase, fast.Caller, fast.SizeBase
    OperatorBase = fast.OperatorBase


def core(*packages: str) -> Core:
    """Return what runs calls in this process, and why: "fast" is the compiled core, with the kernels in C of
    `packages`; "partial" the core without some of these; else "python"."""
    if fast is None:
        return Core("python", _reason)
    found = [_load(f"{package}._native") for package in packages]
    name = "partial" if any(kernels is None for kernels, _ in found) else "fast"
    return Core(name, "; ".join([_reason, *(reason for _, reason in found)]))


def compiled(function: _Function) -> _Function:
    """Return the kernel in C that has the function's name, which calls the function for what it does not handle; the
    function itself where Python runs. Those of the runtime are in the core, others in their package's extension."""
    package = function.__module__.partition(".")[0]
    if fast is None or (package not in ("opwright", "opwright_core") and _load(f"{package}._native")[0] is None):
        return function
    made: _Function = fast.Compiled(function)
    return made
