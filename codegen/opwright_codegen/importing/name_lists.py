"""The reader of lists of operators by their names alone, with kernels for some of them (torch_musa)."""

from __future__ import annotations

from collections import Counter

from opwright_codegen.documents.yaml_reader import MappingNode, Node, SequenceNode, describe
from opwright_codegen.importing.shared_parts import Entries, Item, dispatch_of, scalar, words

__all__ = ["read_names"]

_KEY = "PrivateUse1"  # of backends outside of PyTorch


def read_names(document: SequenceNode, entries: Entries) -> None:
    """Add the operators of a list. One without kernels gets torchgen's name for the key that most others have."""
    tables = [dispatch_of(_values(entry).get("dispatch")) for entry in document.items]
    usual = Counter(key for table in tables for key in table).most_common(1)
    key = usual[0][0] if usual else _KEY
    for entry, table in zip(document.items, tables, strict=True):
        values = _values(entry)
        text = scalar(values.get("func"))
        if text is None:
            entries.hole(entry, None, f"an entry has 'func': this is {describe(entry)} without")
            continue
        name = entries.add(Item(entry, text), tags=tuple(words(values.get("tags"))))
        if name is not None:
            table = table or {key: entries.gathered.kernel_name(name)}
            entries.gathered.implement_all(name, table, entries.where(entry))


def _values(entry: Node) -> dict[str, Node]:
    return {name: value for name, (_, value) in entry.pairs.items()} if isinstance(entry, MappingNode) else {}
