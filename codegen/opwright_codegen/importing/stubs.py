"""Files of `gen_backend_stubs` (torch-npu, XLA), and those that add versions of PyTorch to each entry (op-plugin)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright_codegen.documents.yaml_reader import MappingNode, Node
from opwright_codegen.errors import shorten
from opwright_codegen.importing.shared_parts import Entries, Item, dispatch_of, scalar, words

__all__ = ["read_stubs", "read_versions"]

_LISTS = ("custom", "supported", "full_codegen", "autograd")
_SETTINGS = (
    "backend", "class_name", "cpp_namespace", "extra_headers", "use_out_as_primary", "device_guard", "symint",
    "ir_gen",  # nodes of lazy graphs, whose kernels other lists name
)  # fmt: skip
_VERSION_LISTS = ("official", "custom", "autograd", "symint", "quant")
_VERSIONED: Final = ("acl_op", "op_api", "sparse")


def read_stubs(document: MappingNode, entries: Entries) -> None:
    """Add the operators of a file with `backend:`, `supported:` and the like."""
    backend = scalar(_value(document, "backend")) or ""
    key = entries.key(backend, _value(document, "backend") or document)
    if "custom" in document.pairs:
        entries.find_namespace(backend, document.pairs["custom"][0])
    class_name = scalar(_value(document, "class_name")) or f"{backend}NativeFunctions"
    prefix = scalar(_value(document, "cpp_namespace"))
    path = f"{prefix}::{class_name}" if prefix else class_name
    symbolic = {item.name for item in entries.items(_value(document, "symint"))}
    for section in _LISTS:  # those that name PyTorch's operators may name the backend's own, which come first
        for item in entries.items(_value(document, section)):
            name = _add(item, section, entries)
            if name is not None:
                kernel = f"{path}::{entries.gathered.kernel_name(name)}{'_symint' if item.name in symbolic else ''}"
                _implement(item, name, (f"Autograd{key}" if section == "autograd" else key,), kernel, entries)
    _say_what_is_left(document, (*_LISTS, *_SETTINGS), entries)


def read_versions(document: MappingNode, entries: Entries) -> None:
    """Add the operators that entries have for the newest version of PyTorch."""
    newest = {"all_version", "newest", *words(_value(document, "all_version"))[-1:]}
    if "custom" in document.pairs:
        entries.find_namespace("", document.pairs["custom"][0])
    for section in _VERSION_LISTS:
        for item in entries.items(_value(document, section)):
            keys = _keys_now(item, newest, entries)
            name = _add(item, section, entries) if keys else None
            if name is not None:
                keys = [f"Autograd{key}" if section == "autograd" else key for key in keys]
                _implement(item, name, keys, f"op_plugin::{entries.gathered.kernel_name(name)}", entries)
    _say_what_is_left(document, ("all_version", *_VERSION_LISTS), entries)


def _keys_now(item: Item, newest: set[str], entries: Entries) -> list[str]:
    """Return the keys that an entry has kernels for in the newest version; where there is none, that is a hole."""
    found = {key: words(_value(item.mapping, key)) for key in _VERSIONED}
    said = dict.fromkeys(version for versions in found.values() for version in versions)
    if not said:
        return ["PrivateUse1"]
    keys = ["SparsePrivateUse1" if key == "sparse" else "PrivateUse1" for key, v in found.items() if newest & {*v}]
    if not keys:
        problem = f"its versions, {shorten(', '.join(said))}, end before the newest: it is left out"
        entries.hole(item.node, item.name, problem, "its versions end before the newest")
    return keys


def _add(item: Item, section: str, entries: Entries) -> str | None:
    """Add the operator of an item; its name, or None where it is a hole."""
    return entries.add(item, is_own=section == "custom", tags=tuple(words(_value(item.mapping, "tags"))))


def _implement(item: Item, name: str, keys: Sequence[str], kernel: str, entries: Entries) -> None:
    """Add the kernels that an entry names, or else that which its backend has under such a name."""
    table = dispatch_of(_value(item.mapping, "dispatch")) or dict.fromkeys(keys, kernel)
    entries.gathered.implement_all(name, table, entries.where(item.node))


def _value(mapping: MappingNode | None, key: str) -> Node | None:
    return mapping.pairs[key][1] if mapping is not None and key in mapping.pairs else None


def _say_what_is_left(document: MappingNode, known: tuple[str, ...], entries: Entries) -> None:
    for name, (key, _) in document.pairs.items():
        if name not in known:
            entries.hole(key, None, f"the section {shorten(name)!r} is not read", "a section is not read")
