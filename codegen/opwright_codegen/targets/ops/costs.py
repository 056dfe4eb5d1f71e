"""Target `costs.py`: what calls of operators cost, as data that is imported when someone asks."""

from __future__ import annotations

from collections.abc import Mapping

from opwright_codegen.views.layout import string_row

__all__ = ["FILE", "TEMPLATE", "context"]

FILE = "costs.py"
TEMPLATE = "costs.py.j2"


def context(found: Mapping[str, str]) -> dict[str, object] | None:
    """Return what the template shows; None where nothing is known but what families say."""
    return {"rows": [string_row(name, text) for name, text in found.items()]} if found else None
