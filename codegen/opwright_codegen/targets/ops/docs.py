"""Target `docs.py`: what each operator does, by the `doc:` of its entry. It is data, imported when someone asks."""

from __future__ import annotations

from opwright_codegen.declared.parts import COPIES, IN_PLACE
from opwright_codegen.views.layout import filled, quoted, string_row
from opwright_codegen.views.operators import NamespaceView

__all__ = ["FILE", "TEMPLATE", "context"]

FILE = "docs.py"
TEMPLATE = "docs.py.j2"


def context(view: NamespaceView) -> dict[str, object] | None:
    """Return what the template shows: a row for each name, and for each overload that says something else; names of
    which a variant says the same with a sentence behind it; None where no entry says what it does."""
    rows: dict[str, str] = {}
    for base, group in view.packets.items():
        for operator in group:
            if (text := operator.operator.doc) and text != rows.setdefault(base, text):
                rows[f"{base}.{operator.schema.name.overload or 'default'}"] = text
    if not rows:
        return None
    variants = []
    for table, ending, sentence in (("_IN_PLACE", "_", IN_PLACE), ("_COPIES", "_copy", COPIES)):
        names = [name for name in rows if rows.get(f"{name}{ending}") == f"{rows[name]} {sentence}"]
        if names:
            listed = filled("", [quoted(name) for name in names], ",", 4)
            variants.append({"table": table, "names": listed, "ending": ending, "sentence": sentence})
            for name in names:
                del rows[f"{name}{ending}"]
    return {"rows": [string_row(name, text) for name, text in rows.items()], "variants": variants}
