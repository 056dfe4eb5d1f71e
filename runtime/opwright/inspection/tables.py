"""The functions of `opwright.dispatch`: what handles an operator's keys, and calls by keys that are given."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from opwright_core import plugins
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.call.packets import Packet
from opwright_core.dispatch.registry.kernel_kinds import Registration, Unbound
from opwright_core.dispatch.registry.precedence import Entry
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import DispatchError
from opwright_core.keys import RUNTIME_KEYS, DispatchKey
from opwright_core.keysets import KeySet
from opwright_core.source_locations import shown
from opwright_core.state import with_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["dump", "keys", "redispatch", "registrations", "table"]


class Table(dict[str, Entry]):
    """An operator's dispatch table: what handles each key, by the key's name. Notebooks show it as a table."""

    title: str  # the operator's schema

    def rows(self) -> list[tuple[str, str, str]]:
        """Return each key, what handles it in PyTorch's words, and by which rule."""
        return [(name, _describe(entry), entry.rule) for name, entry in self.items()]

    def _repr_html_(self) -> str:
        from opwright.inspection.html_tables import html_table  # for notebooks alone

        return html_table(self.title, ("key", "handled by", "rule"), self.rows())


def table(op: Operator | Packet | str) -> Table:
    """Return what handles each runtime key of an operator, by the key's name, Undefined first. Raises DispatchError."""
    operator = _operator(op)
    plugins.load()
    with registry.lock:
        made = Table({key.name: operator.entry(key) for key in (DispatchKey.Undefined, *reversed(RUNTIME_KEYS))})
    made.title = f"{operator.name}{operator.declaration}"
    return made


def dump(op: Operator | Packet | str, file: TextIO | None = None) -> None:
    """Print the table as PyTorch does: `CPU: registered at FILE:LINE [kernel]`."""
    made = table(op)
    lines = [f"{name}: {handler} [{rule}]" for name, handler, rule in made.rows()]
    print(made.title, *lines, sep="\n", file=file or sys.stdout)


def _describe(entry: Entry) -> str:
    if entry.registration is None:
        return entry.rule.replace(" ", "_")
    if isinstance(entry.registration.kernel, Unbound):
        return f"unbound '{entry.registration.kernel.name}' declared at {entry.where}"
    return f"{'fallthrough ' if entry.is_fallthrough else ''}registered at {shown(entry.where)}"


def registrations(op: Operator | Packet | str) -> dict[str, Registration]:
    """Return the newest registration of every key that has one, alias and foreign keys too, by the key's name."""
    operator = _operator(op)
    plugins.load()
    with registry.lock:
        return {
            key.name if isinstance(key, DispatchKey) else key: found[-1]
            for key, found in operator.registrations.items()
            if found
        }


def keys(*tensors: Tensor) -> KeySet:
    """Return the keys that a call with these tensors would dispatch by, this thread's modes included."""
    bits = 0
    for tensor in tensors:
        bits |= tensor.keys
    return KeySet(with_modes(bits))


def redispatch(op: Operator | Packet | str, keyset: KeySet, /, *args: Any, **kwargs: Any) -> Any:
    """Call an operator with exactly these keys. Raises DispatchError."""
    return _operator(op).redispatch(keyset, *args, **kwargs)


def _operator(op: Operator | Packet | str) -> Operator:
    match op:
        case Operator():
            return op
        case Packet():
            if len(op.operators) == 1:
                return next(iter(op.operators.values()))
            if "" in op.operators:
                return op.operators[""]
            raise DispatchError(f"{op.name} has several overloads ({', '.join(op.overloads())}): say which one")
        case str():
            return find_operator(op)
