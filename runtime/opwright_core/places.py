"""Places in schema files where operators are declared."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["shown", "where_declared"]


def shown(where: str) -> str:
    """Return a place for a message, also where it is not known."""
    return where or "an unknown place"


def where_declared(namespace: str, rows: Sequence[tuple[str | int, ...]]) -> dict[str, str]:
    """Return where operators are declared, `file:line`, by their full names. A row is one entry of a file: how many
    lines it has, and the operators that it declares; or the next file, and the lines before its first entry."""
    found = {}
    file, line = "", 1
    for first, *rest in rows:
        if isinstance(first, str):
            file, line = first, 1 + int(rest[0])
        else:
            where = f"{file}:{line}"
            for name in rest:
                found[f"{namespace}::{name}"] = where
            line += first
    return found
