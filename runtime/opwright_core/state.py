"""The state that this thread or task has switched on: one immutable object in a ContextVar, replaced as a whole."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final, final

__all__ = ["MODES", "NO_MODES", "Modes", "active_modes", "set_modes", "with_modes"]


@final
class Modes:
    """The modes: bits that are added to the keys of every call, and then the bits that may stay: exclusion wins.

    `mask` is the complement of what is excluded. `top` is the innermost interpreter that calls go through first
    (`opwright.levels`), None where there is none. Never changed once made.
    """

    __slots__ = ("include", "mask", "top")

    def __init__(self, include: int, mask: int, top: Any = None) -> None:
        self.include = include
        self.mask = mask
        self.top = top

    def __repr__(self) -> str:
        return f"Modes(include={self.include:#x}, exclude={~self.mask:#x})"


MODES: Final[ContextVar[Modes | None]] = ContextVar("opwright_modes", default=None)
active_modes: Final = MODES.get
set_modes: Final = MODES.set  # who replaces this thread's or task's modes puts the old ones back
NO_MODES: Final = Modes(0, -1)


def with_modes(keys: int) -> int:
    """Return the keys that a call with tensors of these keys dispatches by."""
    modes = active_modes()
    return keys if modes is None else (keys | modes.include) & modes.mask
