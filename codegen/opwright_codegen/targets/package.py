"""`__init__.py`: what importing the package does."""

from __future__ import annotations

from opwright_codegen.views import NamespaceView

__all__ = ["TEMPLATE", "context"]

TEMPLATE = "__init__.py.j2"


def context(view: NamespaceView) -> dict[str, object]:
    """What the template shows."""
    return {"has_methods": any("method" in o.operator.variants for o in view.operators.values())}
