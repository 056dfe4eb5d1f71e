"""The format of schema files as JSON Schema, for editors: copies of it beside a project's schema files, kept fresh."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

__all__ = ["EDITOR_SCHEMA", "editor_schema", "editor_schemas", "stale_editor_schemas"]

EDITOR_SCHEMA: Final = "native_functions.schema.json"
_HEAD: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Operator declarations",
    "description": (
        "A list of operators. Put a comment '# yaml-language-server: $schema=native_functions.schema.json' first in a "
        "file for completion and checks in an editor."
    ),
    "type": "array",
    "items": {"$ref": "#/$defs/entry"},
}
_WIDTH: Final = 110  # of a line, without the name before its value


def editor_schema() -> str:
    """Return the JSON Schema of schema files, as the table of keys has them."""
    from opwright_codegen.read.entry_keys import KEYS  # which a run with nothing to do goes without

    entry = {
        "type": "object",
        "required": ["func"],
        "additionalProperties": False,
        "properties": {key.name: {"description": key.says, **key.format} for key in KEYS.values()},
    }
    return _laid_out({**_HEAD, "$defs": {"entry": entry}}, 0) + "\n"


def _laid_out(value: Any, column: int) -> str:
    """Return a value as JSON: on one line if that has room, else an item on each."""
    whole = json.dumps(value, ensure_ascii=False)
    if column + len(whole) <= _WIDTH or not isinstance(value, (dict, list)):
        return whole
    inner = column + 2
    if isinstance(value, list):
        items = [_laid_out(each, inner) for each in value]
    else:
        items = [f"{json.dumps(name)}: {_laid_out(each, inner)}" for name, each in value.items()]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    lines = ",\n".join(f"{' ' * inner}{item}" for item in items)
    return f"{opening}\n{lines}\n{' ' * column}{closing}"


def editor_schemas(schemas: Iterable[Path]) -> tuple[Path, ...]:
    """Return the copies that stand beside schema files: those that somebody put there, since editors ask for them."""
    beside = dict.fromkeys(schema.parent / EDITOR_SCHEMA for schema in schemas)
    return tuple(path for path in beside if path.is_file() and not path.is_symlink())


def stale_editor_schemas(schemas: Iterable[Path]) -> tuple[Path, ...]:
    """Return the copies that another version of the generator wrote."""
    return tuple(path for path in editor_schemas(schemas) if path.read_bytes() != editor_schema().encode())
