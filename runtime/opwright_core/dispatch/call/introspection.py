"""Signatures and docstrings, for `inspect.signature` and `help`, of operators, packets and generated functions."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING

from opwright_core.keys import BACKENDS, DispatchKey
from opwright_core.names.late_imports import import_late
from opwright_core.places import shown

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.call.packets import Packet

__all__ = ["ShownDocstring", "ShownSignature", "described"]


def described(operators: Iterable[Operator]) -> str:
    """Return the docstring of a function that stands for operators: what each `doc:` says, once, declarations, and what
    handles the first of them."""
    operators = tuple(operators)
    docs = dict.fromkeys(operator.doc for operator in operators if operator.doc)
    declared = "\n".join([f"{operator.name}{operator.declaration}" for operator in operators])
    return "\n\n".join((*docs, declared, *map(_served, operators[:1])))


def _served(operator: Operator) -> str:
    """Return what handles an operator, and where it is declared."""
    keys = [key for key in operator.registrations.copy() if isinstance(key, DispatchKey)]
    backends = sorted([key.name for key in keys if key.bit & BACKENDS])
    lines = [f"Kernels for {', '.join(backends)}"] if backends else []
    if any(key.name.startswith("Composite") for key in keys):
        lines.append("Written over other operators" if not lines else "written over other operators elsewhere")
    facts = ", ".join(lines) or "No kernel yet"
    return f"{facts}; declared at {shown(operator.where)}"


class ShownDocstring:
    """A `__doc__` of a class: its own docstring, and for an instance what `help` shows of the operators it is."""

    def __init__(self, own: str | None) -> None:
        self._own = own

    def __get__(self, callee: Operator | Packet | None, owner: type) -> str | None:
        if callee is None:
            return self._own
        overloads = getattr(callee, "operators", None)
        return described([callee] if overloads is None else overloads.values())  # type: ignore[list-item]  # as below


class ShownSignature:
    """A `__signature__` of a class: what `inspect.signature` shows of an instance, made when asked for."""

    def __get__(self, callee: Operator | Packet | None, owner: type) -> inspect.Signature | None:
        if callee is None:
            return None  # of the class, Python finds it itself
        found: inspect.Signature = import_late("opwright.inspection.signatures").signature_of(callee)
        return found
