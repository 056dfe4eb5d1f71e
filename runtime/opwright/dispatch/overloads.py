"""The overloads of one name: what packets and operators share."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from opwright.dispatch.introspection import described
from opwright.dispatch.kernel_forms import lock

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["Overloads", "drop_if_empty", "overloads", "shared_overloads"]

Kernel = Callable[..., Any]


class Overloads:
    """The operators of one packet, in definition order, and which of them served the types of earlier calls.

    `generated` is the generated function for all of them, `stub` the same until another one is defined that it knows
    nothing of.
    """

    __slots__ = ("__weakref__", "_names", "chosen", "generated", "operators", "stub")

    def __init__(self) -> None:
        self.operators: dict[str, Operator] = {}
        self.chosen: dict[Any, Operator] = {}
        self.generated: Kernel | None = None
        self.stub: Kernel | None = None
        self._names: frozenset[str] | None = None

    @property
    def names(self) -> frozenset[str]:
        """The arguments of all operators, by name."""
        if self._names is None:
            with lock:
                self._names = frozenset([a[0] for each in self.operators.values() for a in each.arguments])
        return self._names

    def serve_by(self, function: Kernel, known: Iterable[Operator], *, gives_tuples: bool) -> None:
        """Take the generated function for the `known` operators. Calls do not use it where there are others, or where
        it `gives_tuples` of what they return as a list."""
        self.generated = function
        self.stub = None if gives_tuples else function
        if not self.is_known(known):  # asked last: who defines one after this has the function forgotten
            self.stub = None
        function.__doc__ = described(self.operators.values())  # what `help` has to say beyond the signature

    def is_known(self, known: Iterable[Operator]) -> bool:
        """Whether these are the operators there are."""
        return self.operators.keys() == {operator.overload for operator in known}

    def changed(self) -> None:
        """Forget what followed from the operators there were. The lock is held."""
        self.chosen.clear()
        self.stub = None
        self._names = None


overloads: Final[dict[str, Overloads]] = {}  # by packet name, `aten::add`
# Those without operators, for the packets that are still held: these see what is defined under their name again.
_empty: Final[weakref.WeakValueDictionary[str, Overloads]] = weakref.WeakValueDictionary()


def shared_overloads(name: str) -> Overloads:
    """The overloads of a packet, whether there are any yet or not. The lock is held."""
    found = overloads.get(name)
    if found is None:
        found = overloads[name] = _empty.get(name) or Overloads()
    return found


def drop_if_empty(name: str) -> None:
    """Forget a packet's overloads if there are none left; who holds the packet keeps them. The lock is held."""
    if not overloads[name].operators:
        _empty[name] = overloads.pop(name)
