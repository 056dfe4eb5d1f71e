"""The tree `opwright.ops.NAMESPACE.NAME.OVERLOAD`: every operator that is defined, by attribute; and ATen's, for the
runtime's own code to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from opwright.names.late_bound import late_bound
from opwright.registering.lost import why_lost
from opwright_core import plugins
from opwright_core.dispatch.call.packets import Packet, packet
from opwright_core.dispatch.registry.tables import registry
from opwright_core.names.missing import missing_attribute

if TYPE_CHECKING:
    from opwright_aten.ops import Namespace as AtenNamespace

__all__ = ["Namespace", "aten", "forget", "ops"]


class Namespace:
    """The operators of one namespace. An operator that is not defined, or no longer, raises AttributeError.

    Packets that were asked for are kept as attributes, as long as they have operators (`forget`).
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Packet:
        found = self._find(name)
        if found is None:
            late_bound.tools().load_whole()
            plugins.load()
            found = self._find(name)
        if found is None:
            why = _why_not(f"{self._name}::{name}")
            message = f"namespace '{self._name}' has no operator '{name}'{why}{plugins.failures()}"
            names = self.__dir__()
            if not names and not why:
                message += f": nothing is defined in {self._name}"
                raise missing_attribute(message, self._name, ops.__dir__())
            raise missing_attribute(message, name, () if why else names)
        return found

    def _find(self, name: str) -> Packet | None:
        qualified = f"{self._name}::{name}"
        with registry.lock:  # so that nothing undefines it in between
            known = registry.overloads.get(qualified)
            if known is None or not known.operators:
                return None
            found = packet(qualified)
            if ops.__dict__.setdefault(self._name, self) is self:  # `forget` reaches that one
                self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        late_bound.tools().load_whole()
        prefix = f"{self._name}::"
        known = registry.overloads.copy()  # threads may define others, also where a list of pairs is made
        return [name.removeprefix(prefix) for name in known if name.startswith(prefix) and known[name].operators]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Ops, str]]:
        return getattr, (ops, self._name)

    def __repr__(self) -> str:
        return f"<opwright.ops.{self._name}>"


def forget(namespace: str, base: str) -> None:
    """Let go of a packet whose operators may be gone, and of a namespace without packets."""
    registry.check_held()
    known = ops.__dict__.get(namespace)
    if known is not None:
        known.__dict__.pop(base, None)
        if len(known.__dict__) == 1:  # its name is left
            del ops.__dict__[namespace]


def _why_not(qualified: str) -> str:
    with registry.lock:
        has_kernels = any(found and name.partition(".")[0] == qualified for name, found in registry.kernels.items())
        return why_lost(qualified) or (": it has kernels, but is not defined yet" if has_kernels else "")


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
        late_bound.tools().load_whole()
        return sorted({name.partition("::")[0] for name, known in registry.overloads.copy().items() if known.operators})

    def __reduce__(self) -> str:
        return "ops"  # by name, as modules of functions are

    def __repr__(self) -> str:
        return "<opwright.ops>"


ops: Final = Ops()


class _Functions(dict[str, Callable[..., Any]]):
    """Functions and packets, by what stands behind `ops.aten.`, looked up when they are first needed.

    `aten["add.Tensor"](x, y)` calls one overload, by its generated function; `aten["to"](x, …)` the one that fits.
    """

    def __missing__(self, path: str) -> Callable[..., Any]:
        name, _, overload = path.partition(".")
        packet = getattr(ops.aten, name)
        operator = getattr(packet, overload) if overload else None
        found: Callable[..., Any] = packet if operator is None else operator.stub or operator
        self[path] = found
        return found


aten: Final = _Functions()
