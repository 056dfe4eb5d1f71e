"""Operators and kernels removed when what held them was garbage-collected, for the errors that say so."""

from __future__ import annotations

from typing import Final

__all__ = ["Lost"]

_KEPT: Final = 1000  # the newest; a program may lose any number


class Lost:
    """Lost things by name, and where that was made which took them along. Changed with the registry's lock held.

    `told` says how such a thing is lost, with `{where}` in it.
    """

    __slots__ = ("_told", "_where")

    def __init__(self, told: str) -> None:
        self._told = told
        self._where: dict[str, str] = {}

    def note(self, where: str, *names: str) -> None:
        """Remember that these are gone."""
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
