"""Target `calls.pyi`: how operators and packets are called, a class for each distinct set of declarations.

Note [Typed calls]
Most operators are called like others: `neg`, `exp` and 200 more take one tensor. A `Call_…` has the declarations of
one `__call__`, an `Operator_…` is an operator that is called so, a `Packet_…` has its call, and its overloads as
attributes. Their names are those of the parameters, and a hash of what the class says: so none depends on what other
operators there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from opwright_codegen.targets.ops.typed import Typed
from opwright_codegen.views.imports import import_lines
from opwright_codegen.views.names import BuiltinNames, is_word
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = ["FILE", "TEMPLATE", "CallTypes"]

FILE = "calls.pyi"
TEMPLATE = "calls.pyi.j2"
_LONGEST = 34
_HASHED = 6  # characters of a hash, which names with the same parameters need


class CallTypes:
    """The classes of a package's calls: by operator, and by the base name of packets."""

    def __init__(self, view: NamespaceView) -> None:
        self._typed = Typed(BuiltinNames(()), lambda operator: f"ops.{view.homes[operator.name]}.")
        self._declared = {o.name: self._typed.calls(o) for o in view.operators.values()}
        self._calls: dict[str, Sequence[str]] = {}
        self._packets: dict[str, Sequence[str]] = {}
        self.operators: Mapping[str, str] = {o.name: self._call([o]) for o in view.operators.values()}
        self.packets: Mapping[str, str] = {base: self._packet(group) for base, group in view.packets.items()}

    def context(self) -> dict[str, object]:
        """Return what the template shows."""
        words = self._typed.words() | {"Any", "NDArray", "Operator", "Packet", "Protocol", "Tensor"}
        words |= {"TypeAlias", "TypeVar"}
        if any(len(declared) > 1 for declared in self._calls.values()):
            words.add("overload")
        of_operators = {call: _operator(call) for call in self.operators.values()}
        modules = ["builtins"] if "builtins" in words else []
        return {
            "calls": [(name, of_operators.get(name), declared) for name, declared in sorted(self._calls.items())],
            "packets": sorted(self._packets.items()),
            "imports": import_lines(words, modules, [(".", "ops", "ops")] if self._typed.has_results else []),
        }

    def _call(self, group: Sequence[OperatorView]) -> str:
        declared = tuple(dict.fromkeys([text for operator in group for text in self._declared[operator.name]]))
        return _named("Call", group, declared, self._calls)

    def _packet(self, group: Sequence[OperatorView]) -> str:
        overloads = [
            f"{operator.schema.name.shown_overload}: {_operator(self.operators[operator.name])}"
            for operator in group
            if is_word(operator.schema.name.shown_overload)
        ]
        return _named("Packet", group, (f"__call__: {self._call(group)}", *overloads), self._packets)


def _operator(call: str) -> str:
    """Return the class of operators that are called so."""
    return call.replace("Call", "Operator", 1)


def _named(kind: str, group: Sequence[OperatorView], lines: Sequence[str], known: dict[str, Sequence[str]]) -> str:
    """Return the name of the class that says these lines, which `known` has from now on."""
    names = "_".join(dict.fromkeys(p.name for operator in group for p in operator.parameters))[:_LONGEST].strip("_")
    hashed = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    name = "_".join(filter(None, (kind, names, hashed[:_HASHED])))
    if known.setdefault(name, lines) != lines:
        name = f"{name}{hashed[_HASHED:]}"
        known[name] = lines
    return name
