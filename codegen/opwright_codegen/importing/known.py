"""PyTorch's operators as the schema files of this package declare them, for sources that name operators alone."""

from __future__ import annotations

from functools import cache

from opwright_codegen import data_folder
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.schema.names import PYTORCHS

__all__ = ["known_schema"]

_OTHERS = ("tags.yaml", "derivatives.yaml")


def known_schema(name: str) -> FunctionSchema | None:
    """Return the schema of the operator `aten::name.overload`; None where this package does not declare it."""
    return _schemas().get(name) if name.startswith("aten::") else None


@cache
def _schemas() -> dict[str, FunctionSchema]:
    folder = data_folder("schemas")
    schemas = tuple(sorted(path for path in folder.glob("*.yaml") if path.name not in _OTHERS))
    (declared,) = declare(Inputs(folder, schemas, namespace=PYTORCHS), binds=False).values()
    return {each.name: each.schema for each in declared.all}
