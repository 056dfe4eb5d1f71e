"""Target `__init__.py`: what importing the package does."""

from __future__ import annotations

from opwright_codegen.views.imports import ABI_VERSION, import_lines
from opwright_codegen.views.operators import NamespaceView

__all__ = ["TEMPLATE", "context"]

TEMPLATE = "__init__.py.j2"


def context(view: NamespaceView) -> dict[str, object]:
    """Return what the template shows."""
    has_methods = any("method" in o.operator.variants for o in view.operators.values())
    names = ["install", *(["methods_of"] if has_methods else [])]
    return {
        "imports": import_lines(names),
        "abi_version": ABI_VERSION,
        "has_methods": has_methods,
        "is_trusted": view.is_trusted,
    }
