"""Signatures of operators and packets as Python writes them."""

from __future__ import annotations

import inspect
from typing import Any

__all__ = ["signature_text"]


def signature_text(callee: Any) -> str:
    """Return the parameters of an operator or packet with types and defaults, and what it returns."""
    signature, parts, has_star = inspect.signature(callee), [], False
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not has_star:
            has_star = True
            parts.append("*")
        default = "" if each.default is each.empty else f" = {each.default!r}"
        parts.append(f"{each.name}: {each.annotation}{default}")
    return f"({', '.join(parts)}) -> {signature.return_annotation}"
