"""What libraries that were garbage-collected took along, for the errors that say so."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

__all__ = ["lost_kernels", "lost_operators"]

_KEPT: Final = 1000  # the newest; a program may lose any number


class Lost:
    """Things by name, and where the library was made that took them along. Changed with the registry's lock held."""

    def __init__(self, done: str) -> None:
        self._done = done  # what the library had done with such a thing
        self._where: dict[Hashable, str] = {}

    def note(self, name: Hashable, where: str) -> None:
        """Remember that a library took this along."""
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
        if where is None:
            return ""
        return (
            f": the Library that {self._done}, made at {where}, was garbage-collected and took it along; "
            "keep a reference to a Library for as long as what it holds is needed"
        )


lost_operators: Final = Lost("defined it")  # by qualified name, with and without the overload's
lost_kernels: Final = Lost("registered one of its kernels")  # by the operator's qualified name
