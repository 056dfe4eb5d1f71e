"""Signatures and docstrings, for `inspect.signature` and `help`, of operators, packets and generated functions."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from opwright_core.names.late_imports import import_late

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.call.packets import Packet
    from opwright_core.dispatch.registry.tables import Overloads

__all__ = ["ShownDocstring", "ShownSignature", "docstring_of"]


class ShownDocstring:
    """A `__doc__` of a class: its own docstring, and for an instance what `help` shows of the operators it is."""

    def __init__(self, own: str | None) -> None:
        self._own = own

    def __get__(self, callee: Operator | Packet | Overloads | None, owner: type) -> str | None:
        return self._own if callee is None else docstring_of(callee)


def docstring_of(callee: Operator | Packet | Overloads, *, for_help: bool = True) -> str:
    """Return what `help` shows of the operators that a callee is; else what is known without loading rules."""
    operators = getattr(callee, "operators", {"": callee}).copy().values()
    return str(import_late("opwright_core.texts.docstrings").described(operators, for_help=for_help))


class ShownSignature:
    """A `__signature__` of a class: what `inspect.signature` shows of an instance, made when asked for."""

    def __get__(self, callee: Operator | Packet | Overloads | None, owner: type) -> inspect.Signature | None:
        if callee is None:
            return None  # of the class, Python finds it itself
        found: inspect.Signature = import_late("opwright_core.texts.signatures").signature_of(callee)
        return found
