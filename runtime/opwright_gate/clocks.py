"""Clocks: how long another process has been at a call, on a machine that has other work, too."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["Clock"]

_STATE, _USER, _SYSTEM = 0, 11, 12  # fields of /proc/PID/stat, counted from behind the name


class Clock:
    """The seconds that a process has had since now.

    While it computes, the processor's time counts: one that has to wait for its turn does not hang. While it waits for
    something else, time goes on for it. Where no system says what a process does, all time counts.
    """

    __slots__ = ("_cpu", "_pid", "_since")

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._since = time.monotonic()
        self._cpu = _state(pid)[1]

    def seconds(self) -> float:
        """Return how many there were."""
        passed = time.monotonic() - self._since
        if passed < 1:
            return passed
        computes, cpu = _state(self._pid)
        return min(passed, cpu - self._cpu) if computes else passed


def _state(pid: int) -> tuple[bool, float]:
    """Return whether a process computes or would like to, and how many seconds it has computed."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        ticks = int(fields[_USER]) + int(fields[_SYSTEM])
        return fields[_STATE] == "R", ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return False, 0.0
