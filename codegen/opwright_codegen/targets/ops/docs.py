"""Target `docs.py`: what each operator does, by the `doc:` of its entry. It is data, imported when someone asks."""

from __future__ import annotations

from opwright_codegen.views.layout import string_row
from opwright_codegen.views.operators import NamespaceView

__all__ = ["FILE", "TEMPLATE", "context"]

FILE = "docs.py"
TEMPLATE = "docs.py.j2"


def context(view: NamespaceView) -> dict[str, object] | None:
    """Return what the template shows: a row for each name, and for each overload that says something else; None where
    no entry says what it does."""
    rows: dict[str, str] = {}
    for base, group in view.packets.items():
        for operator in group:
            if (text := operator.operator.doc) and text != rows.setdefault(base, text):
                rows[f"{base}.{operator.schema.name.overload or 'default'}"] = text
    return {"rows": [string_row(name, text) for name, text in rows.items()]} if rows else None
