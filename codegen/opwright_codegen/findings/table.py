"""Tables: as wide as the terminal, by Rich; elsewhere a line for each row, so that other programs may read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TextIO

from opwright_codegen.findings.text import console_for, has_rich
from opwright_codegen.findings.texts import one_line

__all__ = ["write_table"]

_NARROW: Final = 60  # columns of a terminal, below which a row takes several lines
_WIDEST: Final = 48  # columns of text that later cells are moved by, elsewhere


def write_table(headings: Sequence[str], rows: Sequence[Sequence[str]], stream: TextIO) -> None:
    """Write rows of cells below their headings."""
    if stream.isatty() and has_rich():
        _write_for_people(headings, rows, stream)
        return
    shown = [[one_line(cell) for cell in row] for row in rows]
    widths = [min(max((len(row[at]) for row in shown), default=0), _WIDEST) for at in range(len(headings))]
    for row in shown:
        stream.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")


def _write_for_people(headings: Sequence[str], rows: Sequence[Sequence[str]], stream: TextIO) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    console = console_for(stream)
    if console.width < _NARROW:
        for row in rows:
            console.print(Text(one_line(row[0]), style="bold"))
            for heading, cell in zip(headings[1:], row[1:], strict=True):
                if cell:
                    console.print(Text(f"  {heading} {one_line(cell)}"))
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for at, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", style="" if at else "bold", ratio=None)
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console.print(table)
