"""Target `batching.py`: the family of batching rules that each operator belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.bindings.family_calls import Family, Value
from opwright_codegen.targets.ops.schema_module import SchemaModule
from opwright_codegen.views.imports import import_lines
from opwright_codegen.views.layout import hugged, quoted
from opwright_codegen.views.operators import tuple_text

__all__ = ["FOLDER", "TEMPLATE", "context"]

FOLDER = "batching"
TEMPLATE = "batching.py.j2"


def context(module: SchemaModule) -> dict[str, object] | None:
    """Return what the template shows; None where no operator has a family."""
    if not module.families:
        return None
    used = {family.name for family in module.families.values()} | {"Family"}
    rows = [_row(name, family) for name, family in module.families.items()]
    return {"imports": import_lines(used, (), ()), "rows": rows}


def _row(name: str, family: Family) -> str:
    items = [_text(value) for value in family.arguments]
    items += [f"{key}={_text(value)}" for key, value in family.keywords]
    return hugged(f"{quoted(name.partition('::')[2])}: {family.name}(", items, ")", 4, 1)


def _text(value: Value) -> str:
    if isinstance(value, str):
        return quoted(value)
    return tuple_text([_text(each) for each in value]) if isinstance(value, Sequence) else repr(value)
