"""Operators and kernels removed when what held them was garbage-collected, for the errors that say so."""

from __future__ import annotations

import sys
from typing import Final

from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.tables import registry

__all__ = ["Lost", "forget_lost", "lost_definitions", "lost_kernels", "lost_operators", "why_lost"]

_LIBRARY: Final = (
    ": the Library that %s, made at {where}, was garbage-collected and took it along; keep a reference to a Library "
    "for as long as what it holds is needed"
)
_DEFINITION: Final = (
    ": what custom_op returned for it, defined by {where}, was garbage-collected, and the operator with it; keep a "
    "reference to that for as long as the operator is needed"
)
_KEPT: Final = 1000  # the newest; a program may lose any number


class Lost:
    """Removed operators or kernels by name, and where the Library was made that held them. Changed with the registry's
    lock held.

    `told` is the hint of an error message, with `{where}` in it.
    """

    __slots__ = ("_told", "_where")

    def __init__(self, told: str) -> None:
        self._told = told
        self._where: dict[str, str] = {}

    def note(self, where: str, *names: str) -> None:
        """Remember names that were removed."""
        self.forget(*names)
        self._where.update(dict.fromkeys(names, where))
        while len(self._where) > _KEPT:
            del self._where[next(iter(self._where))]

    def forget(self, *names: str) -> None:
        """Forget that these were lost: they are there again."""
        for name in names:
            self._where.pop(name, None)

    def why(self, name: str) -> str:
        """Return how it was lost, to go on with after a message; empty if it was not."""
        where = self._where.get(name)
        return "" if where is None else self._told.format(where=where)


lost_operators: Final = Lost(_LIBRARY % "defined it")  # by qualified name, with and without the overload's
lost_definitions: Final = Lost(_DEFINITION)
lost_kernels: Final = Lost(_LIBRARY % "registered one of its kernels")  # by the operator's qualified name


registry.lost = sys.modules[__name__]


def forget_lost(operator: Operator) -> None:
    """Forget that an operator was lost: it is defined again."""
    for lost in (lost_operators, lost_definitions):
        lost.forget(operator.name, operator.packet_name)


def why_lost(name: str) -> str:
    """Return how an operator was lost, to go on with after a message; empty if it was not."""
    return lost_operators.why(name) or lost_definitions.why(name)
