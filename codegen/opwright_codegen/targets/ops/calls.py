"""Calls of functions, packets and operators, a class for each distinct way; target `calls.pyi`.

Note [Typed calls]
Many functions are called like others: `neg`, `exp` and 200 more take one tensor. A `Call_…` has the declarations of
one `__call__`. A function is of such a class; operators and packets are of generic ones that are told how each is
called. A packet is declared as its function is, which takes arguments by other names, too; but where that makes tuples
of lists. What functions of several parts have in common stands in `calls.pyi`, by the names of the parameters, and a
hash of what the class says: so no name depends on what other operators there are. What one part has alone stands there,
beside the function that it is called after.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from opwright_codegen.records import dataclass
from opwright_codegen.targets.ops.typed import Declared, Typed
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.names import is_word, returns_list
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = ["FILE", "TEMPLATE", "CallTypes", "PartCalls", "words_of"]

FILE = "calls.pyi"
TEMPLATE = "calls.pyi.j2"
_LONGEST = 34
_LONGEST_OWN = 44
_HASHED = 6  # characters of a hash, which names with the same parameters need
_PARAMETER = re.compile(r"\b(\w+):(?! \.\.\.)")  # but what returns
_GENERIC: Mapping[Sequence[str], str] = {("default",): "PacketOf", ("default", "out"): "PacketWithOut"}


@dataclass(frozen=True, slots=True)
class Call:
    """The declarations of what has the name `owner`."""

    owner: str
    declared: Declared


class CallTypes:
    """The calls of a package: those of functions and packets by base names, those of operators by theirs."""

    def __init__(self, view: NamespaceView) -> None:
        typed = Typed(view.builtins)
        self.functions: dict[str, Call] = {}
        self.packets: dict[str, Call] = {}
        self.operators: dict[str, Call] = {}
        users: dict[Declared, set[str]] = {}
        for base, group in view.packets.items():
            function = view.names.packets[base].function
            called = [Call(f"{base}_{o.schema.name.shown_overload}", typed.operator(o)) for o in group]
            self.operators |= {operator.name: each for operator, each in zip(group, called, strict=True)}
            self.functions[base] = Call(function, _all([typed.function(operator) for operator in group]))
            self.packets[base] = self.functions[base]
            if any(returns_list(operator.schema) for operator in group):
                self.packets[base] = Call(f"{base}_packet", _all([each.declared for each in called]))
            for each in (self.functions[base], self.packets[base], *called):
                users.setdefault(each.declared, set()).add(view.homes[group[0].name])
        self.shared: Mapping[Declared, str] = dict(_named([each for each, parts in users.items() if len(parts) > 1]))

    def context(self) -> dict[str, object]:
        """Return what the template shows."""
        words = words_of(self.shared)
        uses = {"Any", "Generic", "NDArray", "Operator", "Packet", "Protocol", "Tensor", "TypeAlias", "TypeVar"}
        modules = ["builtins"] if "builtins" in words else []
        return {
            "calls": sorted((name, declared) for declared, name in self.shared.items()),
            "imports": import_lines(words | uses, modules),
        }


def words_of(calls: Collection[Declared]) -> set[str]:
    """Return the names that declarations use, beside those of their parameters."""
    words = words_in(_PARAMETER.sub("", text) for declared in calls for text in declared)
    return words | {"overload"} if any(len(declared) > 1 for declared in calls) else words


def _all(calls: Sequence[Declared]) -> Declared:
    return tuple(dict.fromkeys([text for declared in calls for text in declared]))


def _named(calls: Sequence[Declared]) -> Iterator[tuple[Declared, str]]:
    """Yield the calls with the names of their classes."""
    known = set()
    for declared in calls:
        heads = [text.rpartition("def ")[2] for text in declared]
        names = "_".join(dict.fromkeys(name for text in heads for name in _PARAMETER.findall(text)))
        hashed = hashlib.sha256("\n".join(declared).encode()).hexdigest()
        name = "_".join(filter(None, ("Call", names[:_LONGEST].strip("_"), hashed[:_HASHED])))
        if name in known:
            name = f"{name}{hashed[_HASHED:]}"
        known.add(name)
        yield declared, name


class PartCalls:
    """The classes of the calls of one schema module, as its `.pyi` spells them."""

    def __init__(self, types: CallTypes, taken: Collection[str]) -> None:
        self._types = types
        self._names = set(taken)
        self.own: dict[Declared, str] = {}

    def function(self, base: str) -> str:
        """Return the class of the function for all overloads of a name."""
        return self._class(self._types.functions[base])

    def stub(self, operator: OperatorView) -> str:
        """Return the class of the function that calls one operator."""
        return self._class(self._types.operators[operator.name])

    def overloads(self, group: Sequence[OperatorView]) -> dict[str, str]:
        """Return the types of the operators of a packet, by the names of its attributes."""
        shown = {operator.schema.name.shown_overload: operator for operator in group}
        return {name: self.stub(operator) for name, operator in shown.items() if is_word(name)}

    def packet(self, base: str, group: Sequence[OperatorView]) -> tuple[str, list[str]]:
        """Return the class of a packet and what it is told, or what stands in a class of its own."""
        call = self._class(self._types.packets[base])
        overloads = self.overloads(group)
        generic = _GENERIC.get(tuple(overloads))
        if generic is not None:
            return f"_calls.{generic}", [call, *overloads.values()]
        return "", [f"__call__: {call}", *(f"{name}: _calls.OperatorOf[{each}]" for name, each in overloads.items())]

    def _class(self, call: Call) -> str:
        shared = self._types.shared.get(call.declared)
        if shared is not None:
            return f"_calls.{shared}"
        if call.declared not in self.own:
            self.own[call.declared] = self.unique(f"_Call_{call.owner[:_LONGEST_OWN]}")
        return self.own[call.declared]

    def unique(self, name: str) -> str:
        """Return the name, or a longer one where another class has it."""
        while name in self._names:
            name = f"{name}_"
        self._names.add(name)
        return name
