"""Tables of HTML for notebooks: without scripts, in the colours of the page around them, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

__all__ = ["escape", "html_table"]

_CELL: Final = 'style="border: 1px solid currentColor; padding: 0.1em 0.6em; text-align: left; vertical-align: top"'


def html_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a title, where there is one, is set as code."""
    lines = [_row("th", headings), *(_row("td", row) for row in rows)]
    caption = f'<caption style="text-align: left"><code>{escape(title)}</code></caption>' if title else ""
    return f'<table style="border-collapse: collapse">{caption}{"".join(lines)}</table>'


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag} {_CELL}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
