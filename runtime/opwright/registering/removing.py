"""Registrations that may be taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["Making", "Removable", "remove_all"]


class Removable(Protocol):
    """A registered thing that may be taken back."""

    @property
    def name(self) -> str | None:
        """Return the operator it is for; None for all."""

    def remove(self) -> None:
        """Take it back. Doing so again has no effect."""


Making = Callable[[list[Removable]], object]  # what registers something and adds it to the list, as one step


def remove_all(handles: list[Removable]) -> None:
    """Take back all, the newest first. One whose removal is interrupted stays in the list."""
    while handles:
        handles[-1].remove()
        handles.pop()
