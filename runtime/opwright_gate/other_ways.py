"""Other ways in which an operator is computed, which say what its kernel's values mean: what its schema file names, its
expression in NumPy, its composite."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from opwright.autograd import no_grad
from opwright.inspection.kernel_handles import KernelHandle
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.registry.kernel_kinds import Lazy
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import DispatchError
from opwright_core.keys import DispatchKey
from opwright_core.texts.package_tables import table_of
from opwright_gate.references import Reference, of_tensors

__all__ = ["declared_in_package", "other_way"]

_COMPOSITE: Final = (DispatchKey.CompositeImplicitAutograd, DispatchKey.CompositeExplicitAutograd)


def declared_in_package(name: str) -> Reference | None:
    """Return what an operator's schema file names as `reference`, which its generated package lists.

    Raises what importing the function's module raises.
    """
    operator = registry.operators.get(name)
    said = None if operator is None else table_of(operator, "references", "REFERENCES").get(name.partition("::")[2])
    if operator is None or said is None:
        return None
    if "::" in said:
        try:
            known = find_operator(said)
        except DispatchError as error:
            raise ValueError(f"the reference of {name} is {said}, which nothing defines: import it") from error
        function: Callable[..., Any] = of_tensors(_with_defaults(known), sorted(known.signature.written))
    else:
        module, _, attribute = said.partition(":")
        function = getattr(importlib.import_module(module), attribute)
    return Reference(_without_outs(function, operator), said.replace(":", ".") if "::" not in said else said)


def other_way(operator: Operator) -> Reference | None:
    """Return the other way in which an operator that has a kernel is computed: its expression or its composite."""
    kernels = operator.registrations.get(DispatchKey.CPU)
    if not kernels:
        return None
    written = sorted(operator.signature.written)
    expression = _in_numpy(kernels[-1].kernel)
    if expression is not None:
        return Reference(of_tensors(_quietly(expression), written), "its expression in NumPy, in float64,")
    for key in _COMPOSITE:
        if found := operator.registrations.get(key):
            handle = KernelHandle(operator, DispatchKey.CPU, found[-1])
            return Reference(of_tensors(_quietly(handle.call), written), "its composite, in float64,")
    return None


class _NoLibrary:
    """The stand-in for loops in C: they handle nothing, so that NumPy does."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *_: NotImplemented


def _in_numpy(kernel: Any) -> Callable[..., Any] | None:
    """Return a generated kernel whose loops are in C as it computes without them; None for others."""
    if not isinstance(kernel, Lazy):
        return None
    function = getattr(importlib.import_module(kernel.module), kernel.general)
    if not isinstance(function, FunctionType) or not {"native", "NotImplemented"} <= set(function.__code__.co_names):
        return None
    return FunctionType(function.__code__, {**function.__globals__, "native": _NoLibrary()}, function.__name__)


def _with_defaults(operator: Operator) -> Callable[..., Any]:
    """Return a function of the first arguments of an operator, in order: others are left out."""
    call = _quietly(operator.call)
    return lambda *args: call(*args, *operator.signature.defaults[len(args) :])


def _quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(*args: Any) -> Any:
        with no_grad():
            return function(*args)

    return called


def _without_outs(function: Callable[..., Any], operator: Operator) -> Callable[..., Any]:
    """Return a function that is called without what an operator only writes: its arguments for results."""
    signature = operator.signature
    outs = {place for place in signature.written if place >= signature.positional}
    if not outs:
        return function
    return lambda *args: function(*[each for place, each in enumerate(args) if place not in outs])
