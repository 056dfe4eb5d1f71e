"""`ops.pyi` and `methods.pyi`: what type checkers and editors know of the operators."""

from __future__ import annotations

from opwright_codegen.views import NamespaceView

__all__ = ["METHODS", "OPS", "methods_context", "ops_context"]

OPS = "ops.pyi.j2"
METHODS = "methods.pyi.j2"


def ops_context(view: NamespaceView) -> dict[str, object] | None:
    return None


def methods_context(view: NamespaceView) -> dict[str, object] | None:
    return None
