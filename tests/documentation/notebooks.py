"""Notebooks of pages whose blocks build on each other: made from the pages, which stay the one source, and run.

    python tests/documentation/notebooks.py build/notebooks    # those of the tutorial

A block that is a file becomes a cell that writes it, shell and Python cells that run; what a page shows as their output
is left out, since the cells print it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from running_pages import Cell, agrees, read_cells

TUTORIAL = sorted((Path(__file__).parents[2] / "docs" / "tutorial").glob("[0-9]*.md"))
_FOLDER = "%mkdir -p "
_COLOUR = re.compile(r"\x1b\[[\d;]*m")  # kernels ask programs for colours
_RAISES = re.compile(r"^Traceback ", re.MULTILINE)


def make_notebook(page: Path) -> Any:
    """Returns the notebook of a page, without outputs."""
    text, cells, end = page.read_text(encoding="utf-8"), [], 0
    for cell in read_cells(text):
        cells.append(new_markdown_cell(text[end : cell.span[0]].strip()))
        if cell.file is not None and "/" in cell.file:
            cells.append(new_code_cell(f"{_FOLDER}{cell.file.rpartition('/')[0]}"))
        cells.append(_code(cell))
        end = cell.span[1] if cell.shown is None else text.index("```", cell.output[1]) + 3
    cells.append(new_markdown_cell(text[end:].strip()))
    for number, each in enumerate(cells):
        each["id"] = f"{page.stem}-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=[each for each in cells if each["source"]], metadata={"kernelspec": kernel})


def _code(cell: Cell) -> Any:
    text = cell.text.rstrip()
    if cell.file is not None:
        return new_code_cell(f"%%writefile {cell.file}\n{text}")
    if cell.language == "sh":
        return new_code_cell(f"%%sh --no-raise-error\nexec 2>&1  # errors stand where they come\n{text}")
    raises = cell.shown is not None and _RAISES.search(cell.shown)
    return new_code_cell(text, metadata={"tags": ["raises-exception"]} if raises else {})


def run_notebook(page: Path, folder: Path) -> list[str]:
    """Runs the notebook of a page in a folder; returns what its cells print otherwise than the page shows."""
    from nbclient import NotebookClient

    notebook = make_notebook(page)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    ran = [each for each in notebook.cells if each.cell_type == "code" and not each.source.startswith(_FOLDER)]
    outputs = [_COLOUR.sub("", "".join(_printed(each))) for each in ran]
    cells = read_cells(page.read_text(encoding="utf-8"))
    return [
        f"{page.name}:{cell.line} prints\n{came}"
        for cell, came in zip(cells, outputs, strict=True)
        if cell.file is None and not agrees(cell.shown or "…\n", came)
    ]


def _printed(cell: Any) -> Iterator[str]:
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.text
        elif output.output_type == "error":
            yield f"Traceback (most recent call last):\n{output.ename}: {output.evalue}\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for page in TUTORIAL:
        nbformat.write(make_notebook(page), folder / f"{page.stem}.ipynb")
