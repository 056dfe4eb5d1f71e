"""The registry: every operator, kernel and fallback of the process, under one lock."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from opwright_core.core import fast
from opwright_core.dispatch.call.introspection import ShownDocstring, ShownSignature, docstring_of
from opwright_core.dispatch.registry.fallbacks import default_fallbacks
from opwright_core.dispatch.registry.kernel_kinds import Key, Registration
from opwright_core.errors import RegistrationError
from opwright_core.keys import DispatchKey
from opwright_core.late_bound import late_bound
from opwright_core.locks.registry_lock import RegistryLock
from opwright_core.source_locations import Where, shown

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.call.packets import Packet

__all__ = ["Overloads", "Registry", "registry", "why_lost"]


class Overloads:
    """The operators of one packet, in definition order, and which of them handled the types of earlier calls.

    `generated` is the generated function for all of them, `stub` the same until another one is defined that it knows
    nothing of.
    """

    __slots__ = ("__weakref__", "chosen", "current_stub", "generated", "operators", "pass_calls_to")
    __signature__ = ShownSignature()

    def __init__(self) -> None:
        self.pass_calls_to: Callable[..., None] | None = None  # of the packet, where the compiled core calls it
        self.operators: dict[str, Operator] = {}
        self.chosen: dict[Any, Operator] = {}
        self.generated: Callable[..., Any] | None = None
        self.current_stub: Callable[..., Any] | None = None  # `stub`, for calls to read

    @property
    def stub(self) -> Callable[..., Any] | None:
        """Return the function that handles calls; None where there is none, or not yet."""
        return self.current_stub

    @stub.setter
    def stub(self, function: Callable[..., Any] | None) -> None:
        self.current_stub = function
        if self.pass_calls_to is not None:
            self.pass_calls_to(function, False)  # calls with names are looked at first

    @property
    def names(self) -> frozenset[str]:
        """Return the arguments of all operators, by name."""
        return frozenset([a.name for each in self.operators.copy().values() for a in each.arguments])

    def handle_by(self, function: Callable[..., Any], known: Iterable[Operator], *, gives_tuples: bool) -> None:
        """Take the generated function for the `known` operators. Calls do not use it where there are others, or where
        it `gives_tuples` of what they return as a list."""
        self.generated = function
        self.stub = None if gives_tuples else function
        others = self.operators.keys() ^ {operator.overload for operator in known}
        if others:  # asked last: who defines one after this has the function forgotten
            self.stub = None
        show_operators(function, self)


def show_operators(function: Callable[..., Any], callee: Overloads | Operator) -> None:
    """Make the docstring of a generated function that of the operators it is."""
    if fast is None:
        function.__doc__ = docstring_of(callee, for_help=False)
    else:  # asked for when someone looks
        function.__doc__, function.of = None, callee  # type: ignore[attr-defined]


Overloads.__doc__ = ShownDocstring(Overloads.__doc__)  # type: ignore[assignment]  # what instances have too


class Registry:
    """The tables of what is defined and registered. Who changes them holds `lock`, and `check_held` asserts it.

    A look-up by name needs no lock. Who walks through a table that other threads may change walks through a copy.
    """

    def __init__(self) -> None:
        self.lock = RegistryLock()
        self.operators: dict[str, Operator] = {}  # by qualified name, `aten::add.Tensor`
        # By the operator's name, whether it is defined or not. A name without either has no entry.
        self.kernels: dict[str, dict[Key, list[Registration]]] = {}
        self.fallbacks: dict[DispatchKey, list[Registration]] = default_fallbacks()
        self.overloads: dict[str, Overloads] = {}  # by packet name, `aten::add`
        # Those without operators, for the packets that are still held: they see what is defined under their name again.
        self.empty_overloads: weakref.WeakValueDictionary[str, Overloads] = weakref.WeakValueDictionary()
        self.packets: weakref.WeakValueDictionary[str, Packet] = weakref.WeakValueDictionary()
        self.watch: Callable[..., Any] | None = _watch if os.environ.get("OPWRIGHT_TRACE", "0") != "0" else None
        self.lost: Any = None  # the module of the library that knows what was garbage-collected, once it is loaded
        self.generated_namespaces: dict[str, Where] = {}  # and where the first operator of each is declared

    def check_held(self) -> None:
        """Assert that this thread holds the lock."""
        assert self.lock.is_held(), "the registry's lock must be held here"

    def define(self, operator: Operator) -> dict[Key, list[Registration]]:
        """Enter an operator, and return the kernels of its name. Raises RegistrationError for a name that is taken."""
        with self.lock:
            known = self.operators.setdefault(operator.name, operator)
            if known is not operator:
                raise RegistrationError(
                    f"{operator.name} is defined multiple times with the same name and overload name: "
                    f"first at {shown(known.where)}, then at {shown(operator.where)}"
                )
            packet = self.change_overloads(operator)
            packet.operators[operator.overload] = operator
            return self.kernels.setdefault(operator.name, {})

    def change_overloads(self, operator: Operator) -> Overloads:
        """Forget what followed from the operators that a packet has, and return these to be changed."""
        found = self.shared_overloads(operator.packet_name)
        found.chosen.clear()
        found.stub = None
        return found

    def shared_overloads(self, name: str) -> Overloads:
        """Return the overloads of a packet, whether there are any yet or not."""
        self.check_held()
        found = self.overloads.get(name)
        if found is None:
            found = self.overloads[name] = self.empty_overloads.get(name) or Overloads()
        return found

    def forget_tables(self, name: str | None) -> None:
        """Drop the dispatch table of the operator of that name; with None, those of all."""
        self.check_held()
        for operator in self.operators.copy().values() if name is None else filter(None, [self.operators.get(name)]):
            operator.forget_table()


def _watch(*composed: Any) -> Any:  # is given each composed kernel, and returns one in its place
    return late_bound.tools().watch_process(*composed)


def why_lost(name: str) -> str:
    """Return how an operator was lost, to go on with after a message; empty if it was not."""
    return registry.lost.why_lost(name) if registry.lost is not None else ""


def why_kernel_lost(name: str) -> str:
    """Return how a kernel of an operator was lost, to go on with after a message; empty if none was."""
    return registry.lost.lost_kernels.why(name) if registry.lost is not None else ""


registry: Final = Registry()
