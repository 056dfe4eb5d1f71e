"""Lines of users' code: where a guard or a symbol came from."""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Final

_PACKAGE: Final = Path(__file__).parents[1]
# Code of the runtime, of the kernels of ATen, and of the operators generated for it, is nobody's own line.
_INSIDE: Final = tuple(
    f"{folder}{os.sep}"
    for folder in (
        _PACKAGE, *(_PACKAGE.parent / f"opwright_{name}" for name in ("core", "kernels", "aten")),
        _PACKAGE.parents[1] / "generated",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a source file, with its columns where they are known."""

    filename: str
    line: int
    function: str
    columns: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}"

    @property
    def text(self) -> str:
        """Return the source line."""
        return linecache.getline(self.filename, self.line).rstrip()

    def shown(self, indent: str) -> str:
        """Return the source line with a caret under what was evaluated; empty where the source is not at hand."""
        text = self.text
        stripped = text.lstrip()
        if not stripped:
            return ""
        if self.columns is None:
            return f"{indent}{stripped}\n"
        start, end = (len(text.encode()[:column].decode(errors="replace")) for column in self.columns)
        margin = len(text) - len(stripped)
        return f"{indent}{stripped}\n{indent}{' ' * (start - margin)}{'^' * max(end - start, 1)}\n"


def users_line() -> Location | None:
    """Return the innermost line that is not this project's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame = frame.f_back
    return None if frame is None else _location(frame)


def _location(frame: FrameType) -> Location:
    code = frame.f_code
    line, end_line, start, end = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    columns = (start, end) if start is not None and end is not None and line == end_line == frame.f_lineno else None
    return Location(code.co_filename, frame.f_lineno, code.co_name, columns)
