"""Target `where.py`: where every operator is declared, by lengths: a new entry moves no number of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from opwright_codegen.source import Source, Span
from opwright_codegen.views.imports import import_lines
from opwright_codegen.views.layout import bracketed, quoted
from opwright_codegen.views.operators import NamespaceView

__all__ = ["FILE", "TEMPLATE", "context"]

FILE = "where.py"
TEMPLATE = "where.py.j2"


def context(view: NamespaceView) -> dict[str, object]:
    """Return what the template shows: the rows of each schema file."""
    entries: dict[Span, list[str]] = {}  # variants are declared where their operator is
    for operator in view.operators.values():
        entries.setdefault(operator.operator.location, []).append(operator.name.removeprefix(f"{view.namespace}::"))
    files: dict[Source, list[tuple[int, list[str]]]] = {}
    for location, names in entries.items():
        files.setdefault(location.source, []).append((location.line, names))
    rows = [row for source, found in files.items() for row in _rows(source, view.sources[source.path], found)]
    return {"rows": rows, "imports": import_lines(["where_declared"])}


def _rows(source: Source, path: str, entries: Sequence[tuple[int, list[str]]]) -> Iterator[str]:
    """Yield the rows of a schema file: its name, then an entry each."""
    yield bracketed("(", [quoted(path), str(entries[0][0] - 1)], ")", 4, 1)
    end = len(source.line_starts()) + (not source.text.endswith(("\n", "\r")))
    for (line, names), (following, _) in pairwise([*entries, (end, [])]):
        yield bracketed("(", [str(following - line), *map(quoted, names)], ")", 4, 1)
