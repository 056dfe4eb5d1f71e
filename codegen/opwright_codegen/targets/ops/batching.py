"""Target `batching.py`: the family of batching rules that each operator belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.declared.parts import At, Family, Value
from opwright_codegen.targets.ops.schema_module import SchemaModule
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import hugged, quoted
from opwright_codegen.views.operators import tuple_text

__all__ = ["FOLDER", "TEMPLATE", "context"]

FOLDER = "batching"
TEMPLATE = "batching.py.j2"


def context(module: SchemaModule) -> dict[str, object] | None:
    """Return what the template shows; None where no operator has a family."""
    if not module.families:
        return None
    rows = [_row(name, family) for name, family in module.families.items()]
    words = words_in(rows)
    row_type = "Family | Dimensions" if "Dimensions" in words else "Family"
    return {"imports": import_lines(words | {"Family"}, (), ()), "rows": rows, "row_type": row_type}


def _row(name: str, family: Family) -> str:
    return hugged(f"{quoted(name.partition('::')[2])}: {family.name}(", _items(family), ")", 4, 1)


def _items(family: Family) -> list[str]:
    return [*map(_text, family.arguments), *[f"{key}={_text(value)}" for key, value in family.keywords]]


def _text(value: Value) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Family):
        return f"{value.name}({', '.join(_items(value))})"
    if isinstance(value, At):
        return f"At({value.place})"
    return tuple_text([_text(each) for each in value]) if isinstance(value, Sequence) else repr(value)
