"""Places in a source, as findings say them: the file and the line."""

from __future__ import annotations

from bisect import bisect_right

from opwright_codegen.source import Source

__all__ = ["Places"]


class Places:
    """The lines of a source, found once: a file may be one long line with a thousand operators."""

    def __init__(self, source: Source) -> None:
        self.path = source.shown_path()
        self._starts = source.line_starts()

    def where(self, offset: int) -> str:
        """Return the file and the line of an offset."""
        return f"{self.path}:{bisect_right(self._starts, offset)}"
