"""The line of a running gate: which operator of how many, the findings so far, the time that is left."""

from __future__ import annotations

from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from opwright_gate.reports.terminal import console_for
from opwright_gate.reports.texts import cut, one_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from opwright_gate.run import Progress

__all__ = ["ProgressLine"]


class ProgressLine:
    """A block that shows one line, and removes it at the end; nothing where the stream is no terminal.

    It is drawn when something is done, by the caller's thread: the gate forks, and has no other threads.
    """

    def __init__(self, stream: TextIO, total: int = 0) -> None:
        self._stream = stream
        self._total = total
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> ProgressLine:
        if self._stream.isatty() and find_spec("rich") is not None:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                BarColumn(20),
                MofNCompleteColumn(),
                TextColumn("{task.fields[findings]} findings", style="red", markup=False),
                TimeRemainingColumn(compact=True),
                TextColumn("{task.description}", markup=False),
            )
            self._bar = Progress(*columns, console=console_for(self._stream), transient=True, auto_refresh=False)
            self._task = self._bar.add_task("", total=self._total or None, findings=0)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: Progress) -> None:
        """Show that an operator is done: what `gate` calls."""
        self.show(done.operator, done.done, done.total, done.findings)

    def show(self, what: str, done: int, total: int, findings: int | None = None) -> None:
        """Show that something is done, as the last of `done` of `total`; the findings stay what they are for None."""
        if self._bar is not None and self._task is not None:
            text = cut(one_line(what), 40)
            fields: dict[str, Any] = {} if findings is None else {"findings": findings}
            self._bar.update(self._task, description=text, completed=done, total=total, **fields)
            self._bar.refresh()
