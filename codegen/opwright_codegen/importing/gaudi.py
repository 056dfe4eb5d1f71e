"""The table of Gaudi's bridge: a mapping from operators to how they are lowered."""

from __future__ import annotations

from opwright_codegen.documents.yaml_reader import MappingNode, describe
from opwright_codegen.importing.shared_parts import Entries, Item, scalar

__all__ = ["read_gaudi"]


def read_gaudi(document: MappingNode, entries: Entries) -> None:
    """Add the operators that the table names, with kernels for HPU, and its own ones with their schemas."""
    for text, (key, entry) in document.pairs.items():
        if not isinstance(entry, MappingNode):
            entries.hole(entry, text, f"the entry of an operator is a mapping, not {describe(entry)}")
            continue
        values = {name: scalar(value) for name, (_, value) in entry.pairs.items()}
        schema = values.get("custom_op_schema")
        name = entries.add(Item(key, schema or text, entry), is_own=schema is not None)
        if name is not None:
            kernel = values.get("override_fn") or entries.gathered.kernel_name(name)
            entries.gathered.implement(name, "HPU", kernel, entries.where(key))
