"""Target `where.py`: the file and line of every operator's declaration, so that other files do not change with them."""

from __future__ import annotations

from opwright_codegen.views.layout import LINE, quoted
from opwright_codegen.views.operators import NamespaceView

__all__ = ["FILE", "TEMPLATE", "context"]

FILE = "where.py"
TEMPLATE = "where.py.j2"


def context(view: NamespaceView) -> dict[str, object]:
    """Return what the template shows: an item of a dict for each operator, under its full name."""
    lines = []
    for operator in view.operators.values():
        location = operator.operator.location
        place = quoted(f"{view.sources[location.source.path]}:{location.line}")
        line = f"{quoted(operator.name)}: {place},"
        lines.append(line if len(line) + 4 <= LINE else f"{line}  # noqa: E501")
    return {"lines": lines}
