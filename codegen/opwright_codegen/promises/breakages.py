"""Breakages of a comparison: plain records, each with a code, the categories that it concerns, and both places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opwright_codegen.records import dataclass
from opwright_codegen.source import Span

__all__ = ["CATEGORIES", "CODES", "Breakage", "place_of"]

# What each category promises.
CATEGORIES: Final[Mapping[str, str]] = {
    "CALL": "a call that worked works, and means the same",
    "GRAPH": "a saved graph loads and runs",
    "FAKE": "shapes, dtypes and strides of results, on drawn samples",
    "VALUE": "values of results, on drawn samples, within tolerance",
    "ALIAS": "which arguments are written, and what shares memory",
}
_BOTH = ("CALL", "GRAPH")
# What concerns which category.
CODES: Final[Mapping[str, tuple[str, ...]]] = {
    "operator-removed": _BOTH,
    "operator-renamed": _BOTH,
    "overload-ahead": ("CALL",),
    "method-removed": ("CALL",),
    "module-changed": ("CALL",),
    "argument-count": _BOTH,
    "argument-removed": _BOTH,
    "argument-renamed": _BOTH,
    "argument-moved": _BOTH,
    "argument-required": _BOTH,
    "argument-type": _BOTH,
    "keyword-only": _BOTH,
    "default-changed": _BOTH,
    "default-removed": _BOTH,
    "result-count": _BOTH,
    "result-renamed": _BOTH,
    "result-type": _BOTH,
    "alias-changed": ("ALIAS",),
    "upgrade-differs": ("GRAPH",),
    "fake-changed": ("FAKE",),
    "value-changed": ("VALUE",),
    "call-refused": ("CALL", "VALUE"),
}


@dataclass(frozen=True, slots=True)
class Breakage:
    """One difference between two states: `categories` are those that break, `served` those that an upgrade mends."""

    code: str
    operator: str
    message: str
    categories: tuple[str, ...]
    old: Span | None = None
    new: Span | None = None
    hint: str | None = None
    served: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return the finding as plain data: where it is, and where that was; what is gone is where it was."""
        return {
            "code": self.code,
            "operator": self.operator,
            "message": self.message,
            "hint": self.hint,
            "breaks": list(self.categories),
            "served": list(self.served),
            **place_of(self.new or self.old),
            "old": place_of(self.old),
            "new": place_of(self.new),
        }

    def __str__(self) -> str:
        says = f"breaks {', '.join(self.categories)}" if self.categories else f"served in {', '.join(self.served)}"
        span = self.new or self.old
        lines = [f"{says}: {self.operator}: {self.message} [{self.code}]"]
        if span is not None:
            lines[0] = f"{span}: {lines[0]}"
            lines += (f"    {line}" for line in span.caret().split("\n"))
        if self.old is not None and self.new is not None:
            before = self.old.caret().split("\n")[0].strip()
            lines.append(f"was at {self.old}:\n    {before}")
        if self.hint is not None:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def place_of(span: Span | None) -> dict[str, Any]:
    """Return file, line and column of a place; those of none are None."""
    if span is None:
        return {"file": None, "line": None, "column": None}
    return {"file": span.source.shown_path(), "line": span.line, "column": span.column}
