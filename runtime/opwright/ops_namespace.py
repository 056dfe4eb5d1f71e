"""`opwright.ops.NAMESPACE.NAME.OVERLOAD`: every operator that is defined, by attribute."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from opwright import plugins
from opwright.dispatcher import overloads
from opwright.packets import Packet, packet
from opwright.registrations import kernels, lock

if TYPE_CHECKING:
    from opwright_aten.ops import Namespace as AtenNamespace

__all__ = ["Namespace", "forget", "lost", "ops"]

# By packet name, where the library was made that defined it and was garbage-collected: for the error that says so.
lost: Final[dict[str, str]] = {}


class Namespace:
    """The operators of one namespace. An operator that is not defined, or no longer, raises AttributeError.

    Packets that were asked for are kept as attributes, as long as they have operators (`forget`).
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Packet:
        found = self._find(name)
        if found is None:
            plugins.load()
            found = self._find(name)
        if found is None:
            why = _why_not(f"{self._name}::{name}")
            raise AttributeError(f"namespace '{self._name}' has no operator '{name}'{why}{plugins.failures()}")
        return found

    def _find(self, name: str) -> Packet | None:
        qualified = f"{self._name}::{name}"
        with lock:  # so that nothing undefines it in between
            known = overloads.get(qualified)
            if known is None or not known.operators:
                return None
            found = self.__dict__[name] = packet(qualified)
        return found

    def __dir__(self) -> list[str]:
        prefix = f"{self._name}::"
        return [
            name.removeprefix(prefix)
            for name, known in overloads.items()
            if known.operators and name.startswith(prefix)
        ]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Ops, str]]:
        return getattr, (ops, self._name)

    def __repr__(self) -> str:
        return f"<opwright.ops.{self._name}>"


def forget(namespace: str, base: str) -> None:
    """Let go of a packet whose operators may be gone. The lock is held."""
    known = ops.__dict__.get(namespace)
    if known is not None:
        known.__dict__.pop(base, None)


def _why_not(qualified: str) -> str:
    where = lost.get(qualified)
    if where is not None:
        return (
            f": the Library that defined it, made at {where}, was garbage-collected and took its operators along; "
            "keep a reference to a Library for as long as its operators are needed"
        )
    if any(found for name in kernels if name.partition(".")[0] == qualified for found in kernels[name].values()):
        return ": it has kernels, but is not defined yet"
    return ""


class Ops:
    """The namespaces, by attribute; one that nothing is defined in is empty."""

    aten: AtenNamespace

    def __getattr__(self, name: str) -> Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        found = Namespace(name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted({name.partition("::")[0] for name, known in overloads.items() if known.operators})

    def __reduce__(self) -> str:
        return "ops"  # by name, as modules of functions are

    def __repr__(self) -> str:
        return "<opwright.ops>"


ops: Final = Ops()
