"""The progress of a build: a bar on a terminal, by Rich; a line for each file elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from opwright_codegen.findings.text import console_for, has_rich

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["Progress", "progress_bar", "shown"]

_SOON: Final = 0.5  # seconds, before which no bar appears


class Progress:
    """The steps of one build, by their number: which of how many runs, and for how long."""

    def __init__(self, out: TextIO, count: int) -> None:
        self._out = out
        self._count = count
        self._done = 0
        self._start = time.perf_counter()
        self._is_live = out.isatty() and has_rich()
        self._bar: Bar | None = None

    @property
    def seconds(self) -> float:
        """Return how long the build has been running."""
        return time.perf_counter() - self._start

    def show(self, path: Path) -> None:
        """Say on a terminal what runs now."""
        if self._is_live:
            if self._bar is None:
                self._bar = _make_bar(self._out)
                self._bar.add_task("", total=self._count)
                self._bar.start()
            what = f"{shown(path)}, {self.seconds:.1f} s"
            self._bar.update(self._bar.task_ids[0], description=what, completed=self._done)
            self._bar.refresh()

    def done(self, path: Path) -> None:
        """Count a step; say so where there is no terminal."""
        self._done += 1
        if not self._is_live:
            print(f"[{self._done}/{self._count}] {shown(path)}", file=self._out, flush=True)

    def clear(self) -> None:
        """Remove the bar from the terminal: something is going to be printed."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def progress_bar(stream: TextIO) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows a step, the number of steps done, and the total: a bar, on a terminal."""
    start = time.perf_counter()
    bar: Bar | None = None

    def show(step: str, done: int, total: int) -> None:
        nonlocal bar
        if not stream.isatty() or not has_rich() or time.perf_counter() - start < _SOON:
            return
        if bar is None:
            bar = _make_bar(stream)
            bar.add_task("", total=total)
            bar.start()
        bar.update(bar.task_ids[0], description=step, completed=done)
        bar.refresh()

    try:
        yield show
    finally:
        if bar is not None:
            bar.stop()


def _make_bar(out: TextIO) -> Bar:
    """Return a bar that is drawn when it is told to, by the caller's thread, and leaves nothing behind."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(20), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    return Bar(*columns, console=console_for(out), transient=True, auto_refresh=False)


def shown(path: Path) -> str:
    """Return a path as the user gives it: from here, where it is below. It can be printed, whatever bytes it has."""
    here, whole = Path.cwd(), path.absolute()
    text = whole.relative_to(here).as_posix() if whole.is_relative_to(here) else path.as_posix()
    return os.fsencode(text).decode("utf-8", "replace")
