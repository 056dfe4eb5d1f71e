"""Entries of files as texts by key, and the errors about their keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from opwright_codegen.documents.nodes import node_span, wrong_type
from opwright_codegen.documents.yaml_reader import MappingNode, Node
from opwright_codegen.errors import Errors, SchemaError, nearest, shorten
from opwright_codegen.source import Source, Span

__all__ = ["entry_head", "read_texts", "unknown_key"]


def entry_head(node: MappingNode, source: Source) -> Span:
    """Return the first key of an entry: its line is the entry's."""
    first = next(iter(node.pairs.values()), None)
    return node_span(first[0] if first else node, source)


def read_texts(
    node: Node,
    readers: Mapping[str, Callable[[Node, Source], str]],
    needed: Collection[str],
    source: Source,
    errors: Errors,
    *,
    written: str | None = None,
    why_needed: str | None = None,
) -> dict[str, str] | None:
    """Return the texts of a mapping that is no operator's entry; None where something is wrong, which is noted, with
    hints how one is written and why keys are needed."""
    if not isinstance(node, MappingNode):
        errors.add(wrong_type("a mapping", node, source, written))
        return None
    count, found = len(errors), {}
    for name, (key, value) in node.pairs.items():
        try:
            if name not in readers:
                raise unknown_key(name, readers, node_span(key, source))
            found[name] = readers[name](value, source)
        except SchemaError as error:
            errors.add(error)
    for name in needed:
        if name not in node.pairs:
            message = f"the entry has no {name!r}"
            errors.add(SchemaError("missing-key", message, entry_head(node, source), why_needed))
    return found if len(errors) == count else None


def unknown_key(name: str, known: Collection[str], span: Span) -> SchemaError:
    """Return the error for a key that is none of those known."""
    if name == "<<":
        return SchemaError("unknown-key", "merge keys (<<) are not read", span, "write the keys out")
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"known keys: {', '.join(known)}"
    return SchemaError("unknown-key", f"unknown key {shorten(name)!r}", span, hint)
