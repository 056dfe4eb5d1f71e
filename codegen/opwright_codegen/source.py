"""Text read from somewhere, and spans of it: where an error is, as a line, a column and a caret."""

from __future__ import annotations

import os
import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from opwright_codegen.records import dataclass, field

__all__ = ["Source", "Span", "Text"]

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_SHOWN_COLUMNS = 100
_TAB = "    "


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A text and the path it came from (`<schema>` and the like for text that is in no file)."""

    path: str
    text: str
    _starts: array[int] = field(default_factory=lambda: array("I"), init=False, repr=False)

    def line_starts(self, until: int | None = None) -> Sequence[int]:
        """Return the offsets at which lines start, found as far as asked for: to the first behind the offset `until`.

        A file may have as many lines as characters: they are kept as the four bytes that each needs.
        """
        starts = self._starts
        if not starts:
            starts.append(0)
        if until is None or starts[-1] <= until:
            for found in _LINE_BREAK.finditer(self.text, starts[-1]):
                start = found.end()
                starts.append(start)
                if until is not None and start > until:
                    break
        return starts

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, counted from 1."""
        starts = self.line_starts(offset)
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def shown_path(self) -> str:
        """Return the path as a message shows it: relative to the working directory when below it, else as given."""
        here = os.getcwd() + os.sep
        return self.path[len(here) :] if self.path.startswith(here) else self.path

    def whole(self) -> Span:
        """Return the span of the whole text."""
        return Span(self, 0, len(self.text))


class Span(NamedTuple):
    """A part of a source, characters `start` up to `end`; line and column are counted from 1, when somebody asks."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.place(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.place(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def sub(self, start: int, end: int) -> Span:
        """Return the characters `start` up to `end` of this span."""
        return Span(self.source, self.start + start, self.start + end)

    def __str__(self) -> str:
        return f"{self.source.shown_path()}:{self.line}:{self.column}"

    def caret(self) -> str:
        """Return the line of the span's start and, below it, carets under the part of the span that is on that line."""
        starts = self.source.line_starts(self.start)
        begin = starts[self.line - 1]
        limit = starts[self.line] if self.line < len(starts) else len(self.source.text)
        # The window is cut before anything is measured: a line of 50 MB costs no more than a short one.
        left = max(begin, self.start - _SHOWN_COLUMNS // 2)
        right = min(limit, left + _SHOWN_COLUMNS)
        line = self.source.text[left:right].rstrip("\r\n")
        here = min(self.start - left, len(line))
        stop = max(here, min(self.end - left, len(line)))
        before, under, after = (_visible(part) for part in (line[:here], line[here:stop], line[stop:]))
        prefix = "... " if left > begin else ""
        suffix = " ..." if right < limit and self.source.text[right] not in "\r\n" else ""
        pad = " " * (len(prefix) + _width(before))
        return f"{prefix}{before}{under}{after}{suffix}\n{pad}{'^' * max(1, _width(under))}"


@dataclass(frozen=True, slots=True)
class Text:
    """A text whose language is not parsed yet, and where it stands. Comparison ignores the position."""

    text: str
    span: Span = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.text


def _visible(text: str) -> str:
    """Return the text as it may be printed: tabs as spaces; control characters, surrogates and the like as one mark."""
    if text.isprintable():
        return text
    return "".join(_TAB if char == "\t" else char if char.isprintable() else "\ufffd" for char in text)


def _width(text: str) -> int:
    """Return how many terminal columns the text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
