"""Nodes of YAML as values: their spans, texts, lists, words and entries. SchemaError for a wrong type."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

from opwright_codegen.documents.yaml_reader import MappingNode, Node, ScalarNode, SequenceNode, describe
from opwright_codegen.errors import Errors, SchemaError, nearest, shorten
from opwright_codegen.source import Source, Span

__all__ = [
    "NULLS",
    "StringReader",
    "entry_head",
    "is_verbatim",
    "matching",
    "node_span",
    "one_of",
    "read_list",
    "read_list_or_one",
    "read_scalar",
    "read_string",
    "read_texts",
    "text_span",
    "unknown",
    "unknown_key",
    "wrong_type",
]

StringReader = Callable[[Node, Source], str]
NULLS = frozenset(("", "~", "null", "Null", "NULL"))


def node_span(node: Node, source: Source) -> Span:
    return Span(source, node.start, node.end)


def text_span(node: ScalarNode, source: Source) -> Span:
    """Return the characters of the file that are those of the text, where there are such; else the whole scalar.

    Texts with escapes, doubled quotes or folded lines have no such characters.
    """
    content = node.text.rstrip("\n")
    at = source.text.find(content, node.start, node.end) if content else -1
    return Span(source, at, at + len(content)) if at >= 0 else Span(source, node.start, node.end)


def is_verbatim(node: ScalarNode, span: Span) -> bool:
    """Whether offsets into the text are offsets into `span`."""
    return span.end - span.start == len(node.text.rstrip("\n"))


def wrong_type(expected: str, node: Node, source: Source, hint: str | None = None) -> SchemaError:
    return SchemaError("wrong-type", f"{expected} is expected, not {describe(node)}", node_span(node, source), hint)


def read_scalar(node: Node, source: Source) -> ScalarNode:
    """Read any text that is there. Numbers and the like are taken as they are written."""
    if type(node) is not ScalarNode:
        raise wrong_type("a text", node, source)
    if not node.text.strip() or (node.plain and node.text in NULLS):
        raise wrong_type("a text", node, source, _why_empty(node, source))
    return node


def _why_empty(node: ScalarNode, source: Source) -> str:
    """Return the hint for a text that is not there: in `{CPU: xp.add(a, b)}` the comma begins a key."""
    _, is_in_braces, before = source.text[: node.start].rpartition("{")
    is_split = is_in_braces and "}" not in before and "(" in before
    return "put a value that has commas in quotes" if is_split else "leave the key out, or give it a value"


def read_string(node: Node, source: Source) -> str:
    return read_scalar(node, source).text


def read_list(node: Node, source: Source) -> list[ScalarNode]:
    if type(node) is not SequenceNode:
        raise wrong_type("a list", node, source, "write [a, b], or a line '- a' for each")
    return [read_scalar(item, source) for item in node.items]


def read_list_or_one(node: Node, source: Source) -> list[ScalarNode]:
    return [node] if type(node) is ScalarNode and node.text not in NULLS else read_list(node, source)


def one_of(what: str, choices: Iterable[str]) -> StringReader:
    known = tuple(choices)

    def read(node: Node, source: Source) -> str:
        scalar = read_scalar(node, source)
        if scalar.text in known:
            return scalar.text
        raise unknown(what, scalar.text, known, text_span(scalar, source))

    return read


def matching(what: str, pattern: re.Pattern[str], example: str) -> StringReader:
    def read(node: Node, source: Source) -> str:
        scalar = read_scalar(node, source)
        if pattern.fullmatch(scalar.text):
            return scalar.text
        raise SchemaError("bad-name", f"{what} is expected", text_span(scalar, source), f"for example {example}")

    return read


def unknown(what: str, word: str, known: Iterable[str], span: Span) -> SchemaError:
    """Return the error that a word is none of those known, with the nearest of them."""
    known = tuple(known)
    near = nearest(word, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
    return SchemaError(f"unknown-{what.replace(' ', '-')}", f"unknown {what} {word!r}", span, hint)


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
