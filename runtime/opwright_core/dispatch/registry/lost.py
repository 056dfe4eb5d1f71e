"""Operators and kernels removed when what held them was garbage-collected, for the errors that say so."""

from __future__ import annotations

from typing import Final

__all__ = ["Lost"]

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
