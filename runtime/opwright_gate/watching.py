"""The note of the call that is made next, in memory that the parent reads when the process is gone."""

from __future__ import annotations

import mmap
import pickle
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from opwright_gate.cases import Case

__all__ = ["NOTE_SIZE", "Board", "note", "note_again", "use_board"]

NOTE_SIZE: Final = 1 << 20
_HEAD: Final = 24  # number of the note, number of the property, length


class Board:
    """Memory that a process and its parent share: what is asked, and the call that is made."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, NOTE_SIZE)
        self.property = 0

    def write(self, case: Case | None) -> None:
        """Note a call. One too large to be noted is noted by its shapes."""
        try:
            text = pickle.dumps(case)
        except Exception:  # an argument that nobody can send
            text = b""
        if len(text) > NOTE_SIZE - _HEAD:
            text = b""
        count = int.from_bytes(self._memory[:8], "little") + 1
        self._memory[_HEAD : _HEAD + len(text)] = text
        self._memory[:_HEAD] = b"".join(each.to_bytes(8, "little") for each in (count, self.property, len(text)))

    def touch(self) -> None:
        """Note that something else is begun: the time of a call begins anew."""
        self._memory[:8] = (self.count + 1).to_bytes(8, "little")

    def read(self) -> tuple[int, int, Any]:
        """Return how many calls were noted, the property that was asked, and the last call, None where it is not
        known."""
        count, place, length = (int.from_bytes(self._memory[at : at + 8], "little") for at in (0, 8, 16))
        text = bytes(self._memory[_HEAD : _HEAD + length])
        try:
            return count, place, pickle.loads(text) if text else None
        except Exception:
            return count, place, None

    @property
    def count(self) -> int:
        """Return how many calls were noted."""
        return int.from_bytes(self._memory[:8], "little")


_board: list[Board] = []


def use_board(board: Board) -> None:
    """Write notes to a board from now on."""
    _board[:] = [board]


def note(case: Case | None) -> None:
    """Note the call that is made next, if somebody reads it."""
    for board in _board:
        board.write(case)


def note_again() -> None:
    """Note that the call which was noted last is made again, with its own time limit."""
    for board in _board:
        board.touch()
