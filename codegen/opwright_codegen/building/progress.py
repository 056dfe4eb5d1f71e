"""The progress of a build: a line that changes on a terminal, a line for each file elsewhere."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TextIO

__all__ = ["Progress", "shown"]


class Progress:
    """The steps of one build, by their number: which of how many runs, and for how long."""

    def __init__(self, out: TextIO, count: int) -> None:
        self._out = out
        self._count = count
        self._done = 0
        self._start = time.perf_counter()
        self._is_live = out.isatty()

    @property
    def seconds(self) -> float:
        """Return how long the build has been running."""
        return time.perf_counter() - self._start

    def show(self, path: Path) -> None:
        """Say on a terminal what runs now."""
        if self._is_live:
            text = f"[{self._done + 1}/{self._count}] {shown(path)}, {self.seconds:.1f} s"
            print(f"\r\x1b[K{text}\r", end="", file=self._out, flush=True)

    def done(self, path: Path) -> None:
        """Count a step; say so where there is no terminal."""
        self._done += 1
        if not self._is_live:
            print(f"[{self._done}/{self._count}] {shown(path)}", file=self._out, flush=True)

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._is_live:
            print("\r\x1b[K", end="", file=self._out, flush=True)


def shown(path: Path) -> str:
    """Return a path as the user gives it: from here, where it is below. It can be printed, whatever bytes it has."""
    here, whole = Path.cwd(), path.absolute()
    text = whole.relative_to(here).as_posix() if whole.is_relative_to(here) else path.as_posix()
    return os.fsencode(text).decode("utf-8", "replace")
