"""The format of schema files as JSON Schema, for editors: copies of it beside a project's schema files, kept fresh."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Final

__all__ = ["EDITOR_SCHEMA", "editor_schema", "editor_schemas", "stale_editor_schemas"]

EDITOR_SCHEMA: Final = "native_functions.schema.json"


def editor_schema() -> str:
    """Return the text that comes with the generator."""
    return (files("opwright_codegen.schemas") / EDITOR_SCHEMA).read_text(encoding="utf-8")


def editor_schemas(schemas: Iterable[Path]) -> tuple[Path, ...]:
    """Return the copies that stand beside schema files: those that somebody put there, since editors ask for them."""
    beside = dict.fromkeys(schema.parent / EDITOR_SCHEMA for schema in schemas)
    return tuple(path for path in beside if path.is_file() and not path.is_symlink())


def stale_editor_schemas(schemas: Iterable[Path]) -> tuple[Path, ...]:
    """Return the copies that another version of the generator wrote."""
    return tuple(path for path in editor_schemas(schemas) if path.read_bytes() != editor_schema().encode())
