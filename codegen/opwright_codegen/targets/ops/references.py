"""Target `references.py`: what says the values of operators, as data that the gate alone reads."""

from __future__ import annotations

from collections.abc import Mapping

from opwright_codegen.views.layout import quoted

__all__ = ["FILE", "TEMPLATE", "context"]

FILE = "references.py"
TEMPLATE = "references.py.j2"


def context(found: Mapping[str, str]) -> dict[str, object] | None:
    """Return what the template shows; None where no entry has a reference."""
    return {"rows": [f"{quoted(name)}: {quoted(text)}," for name, text in found.items()]} if found else None
