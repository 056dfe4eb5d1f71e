"""Operators and kernels removed when what held them was garbage-collected, for the errors that say so."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

__all__ = ["lost_definitions", "lost_kernels", "lost_operators", "why_lost"]

_KEPT: Final = 1000  # the newest; a program may lose any number


class Lost:
    """Things by name, and where that was made which took them along. Changed with the registry's lock held."""

    def __init__(self, told: str) -> None:
        self._told = told  # how such a thing is lost
        self._where: dict[Hashable, str] = {}

    def note(self, name: Hashable, where: str) -> None:
        """Remember that this is gone."""
        self.forget(name)
        self._where[name] = where
        if len(self._where) > _KEPT:
            del self._where[next(iter(self._where))]

    def forget(self, name: Hashable) -> None:
        """It is there again."""
        self._where.pop(name, None)

    def why(self, name: Hashable) -> str:
        """How it was lost, to go on with after a message; empty if it was not."""
        where = self._where.get(name)
        return "" if where is None else self._told.format(where=where)


_LIBRARY: Final = (
    ": the Library that %s, made at {where}, was garbage-collected and took it along; keep a reference to a Library "
    "for as long as what it holds is needed"
)
# By qualified name, with and without the overload's.
lost_operators: Final = Lost(_LIBRARY % "defined it")
lost_definitions: Final = Lost(
    ": what custom_op returned for it, defined by {where}, was garbage-collected, and the operator with it; keep a "
    "reference to that for as long as the operator is needed"
)
lost_kernels: Final = Lost(_LIBRARY % "registered one of its kernels")  # by the operator's qualified name


def why_lost(name: str) -> str:
    """Return how an operator was lost, to go on with after a message; empty if it was not."""
    return lost_operators.why(name) or lost_definitions.why(name)
