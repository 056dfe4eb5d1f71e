"""Schema files and derivatives in canonical form: keys in one order, two spaces of indentation, an empty line between
entries, schemas and lists spaced alike. Comments stay with what they are about.

The text is cut into pieces by the offsets that the reader keeps, and the pieces are laid out again. Nothing is
dumped from data: quotes, long texts and comments are what their author wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from opwright_codegen.documents.yaml_reader import MappingNode, Node, ScalarNode, SequenceNode, read_entries
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.read.entries import read_schema
from opwright_codegen.read.entry_keys import KEYS
from opwright_codegen.read.key_formats import Form
from opwright_codegen.read.old_dims import OLD_KEYS, converted
from opwright_codegen.source import Source

__all__ = ["canonical"]

_OF_DERIVATIVES: Final = ("name", "output_differentiability")  # keys of derivatives.yaml, which come first there
_INDENT: Final = 2
_DASH: Final = re.compile(r"^ *-(?=\s)", re.MULTILINE)
_NUMBERED: Final = re.compile(r"[|>][+-]?[1-9]")  # its indentation is said in numbers: its lines stay where they are
_BARE: Final = re.compile(r"(?:[A-Za-z_(]|\.\.\.)(?!.*(?:: | #)).*[^:\s]")  # a value that needs no quotes
_PLAIN: Final = re.compile(r"[^\[\]{}#&*!|>'\"%@`,:\s][^\[\]{}#'\"\n,:]*")


class _Piece(NamedTuple):
    """A key of an entry: comments above it, its text and that of its value, the comment behind."""

    key: str
    above: list[str]
    lines: list[str]
    behind: str


def canonical(source: Source, namespace: str | None = None) -> str:
    """Return the canonical text of a file. Raises SchemaErrors for one that cannot be read.

    `namespace` is that of operators which are declared without one.
    """
    text = source.text.replace("\r\n", "\n").replace("\r", "\n")
    source = Source(source.path, text)
    nodes = _nodes(source)
    made = _laid_out(source, nodes, namespace or "")
    again = Source(source.path, made)
    if [_data(node, namespace) for node in _nodes(again)] != [_data(node, namespace) for node in nodes]:
        message = "the file cannot be written in canonical form without changing what it says"
        raise SchemaError("format-unsafe", f"{source.shown_path()}: {message}", None, "please report it with the file")
    return made


def _nodes(source: Source) -> list[Node]:
    errors = Errors()
    nodes = list(read_entries(source, errors))
    errors.raise_if_any()
    return nodes


def _data(node: Node, namespace: str | None) -> object:
    """Return what a node says, however it is written."""
    if type(node) is ScalarNode:
        return node.text
    if type(node) is SequenceNode:
        return [_data(item, namespace) for item in node.items]
    assert type(node) is MappingNode
    dims = _dims(node)
    kept = {key: value for key, (_, value) in node.pairs.items() if not (dims and key in OLD_KEYS)}
    return ({"dims": dims} if dims else {}) | {
        ", ".join(map(str.strip, key.split(","))): _said(key, value, namespace) for key, value in kept.items()
    }


def _dims(node: MappingNode) -> str:
    """Return the value of `dims` for the keys that it has replaced; "" for an entry without these."""
    old = {key: node.pairs[key][1] for key in OLD_KEYS if key in node.pairs}
    texts = {key: value.text for key, value in old.items() if type(value) is ScalarNode}
    return "" if len(texts) < len(old) or "dims" in node.pairs else converted(texts)


def _said(key: str, value: Node, namespace: str | None) -> object:
    form = _form(key)
    if type(value) is not ScalarNode or form is Form.AS_WRITTEN:
        return _data(value, namespace)
    words = "".join(value.text.split())  # schemas, and lists of names: spaces say nothing
    return words if form is Form.WORDS else _schema_text(value, namespace) or words


def _form(key: str) -> Form:
    if key in _OF_DERIVATIVES:
        return Form.SCHEMA if key == "name" else Form.AS_WRITTEN
    return KEYS[key].form if key in KEYS else Form.AS_WRITTEN


def _schema_text(node: ScalarNode, namespace: str | None) -> str:
    """Return a schema as it is printed, with its namespace as far as it has one; "" for one that is wrong."""
    own = Source("<schema>", node.text)
    try:
        schema = read_schema(ScalarNode(node.text, True, 0, len(node.text)), own, namespace or "n")
    except SchemaError:
        return ""
    text = str(schema)
    return text if "::" in node.text.partition("(")[0] else text.partition("::")[2]


def _laid_out(source: Source, nodes: Sequence[Node], namespace: str) -> str:
    text = source.text
    at = 0
    parts: list[str] = []
    for index, node in enumerate(nodes):
        dashes = [found.end() for found in _DASH.finditer(text, at, node.start + 1)]
        if not dashes:
            return text  # the list is in brackets
        start = dashes[-1] - 1
        head = text[at : text.rfind("\n", 0, start) + 1]
        is_close = type(node) is MappingNode and "tag" in node.pairs and "\n\n" not in head  # two lines that say a tag
        parts += _between(head, is_first=not index or is_close)
        end = _line_end(text, _end_of(text, node))
        parts += _entry(source, node, start, end, namespace)
        at = min(end + 1, len(text))
    rest = _between(text[at:], is_first=not nodes)
    while rest and not rest[-1]:
        rest.pop()
    return "\n".join([*parts, *rest]).strip("\n") + "\n"


def _between(text: str, *, is_first: bool) -> list[str]:
    """Return the lines between two entries: comments, and an empty line where there was one or an entry ends."""
    lines = [line.strip() for line in text.split("\n")]
    lines = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    while lines and not lines[0]:
        lines.pop(0)
    is_last_empty = bool(lines) and len(lines) > 1 and not lines[-1] and text.rstrip(" ").endswith("\n\n")
    while lines and not lines[-1]:
        lines.pop()
    return [*([] if is_first else [""]), *lines, *([""] if is_last_empty else [])]


def _end_of(text: str, node: Node) -> int:
    """Return the end of what a node says, without the lines of nothing and of comments that follow."""
    if type(node) is MappingNode and node.pairs and text[node.start] != "{":
        return max(_end_of(text, value) for _, value in node.pairs.values())
    if type(node) is SequenceNode and node.items and text[node.start] != "[":
        return max(_end_of(text, item) for item in node.items)
    return node.start + len(text[node.start : node.end].rstrip())


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _entry(source: Source, node: Node, start: int, end: int, namespace: str) -> list[str]:
    """Return the lines of an entry. One that is no mapping of several lines stays as it is."""
    text = source.text
    if type(node) is not MappingNode or text[node.start] in "{[" or not node.pairs:
        return [line.rstrip() for line in text[start:end].split("\n")]
    pieces = sorted(_with_dims(node, list(_pieces(source, node, start, end, namespace))), key=_position)
    lines: list[str] = []
    for piece in pieces:
        lines += (f"{' ' * _INDENT}{line}" for line in piece.above)
        lines += (f"{' ' * _INDENT}{line}" if line else "" for line in piece.lines)
        if piece.behind:
            lines[-1] += f"  {piece.behind}"
    # A dash stands before the first line, which may be a comment.
    if lines[0].lstrip().startswith("#"):
        above = [line.strip() for line in pieces[0].above]
        return [*above, "- " + lines[len(above)][_INDENT:], *lines[len(above) + 1 :]]
    return ["- " + lines[0][_INDENT:], *lines[1:]]


def _with_dims(node: MappingNode, pieces: list[_Piece]) -> list[_Piece]:
    """Return the pieces with one of `dims` for those of the keys that it has replaced."""
    dims = _dims(node)
    old = [piece for piece in pieces if piece.key in OLD_KEYS] if dims else []
    if not old:
        return pieces
    *others, behind = [piece.behind for piece in old if piece.behind] or [""]
    above = [*(line for piece in old for line in piece.above), *others]
    line = f"dims: {dims if _BARE.fullmatch(dims) else json.dumps(dims, ensure_ascii=False)}"
    return [*(piece for piece in pieces if piece not in old), _Piece("dims", above, [line], behind)]


def _position(piece: _Piece) -> int:
    order = (*_OF_DERIVATIVES, *KEYS)
    return order.index(piece.key if piece.key in order else "dispatch")


def _pieces(source: Source, node: MappingNode, start: int, end: int, namespace: str) -> Iterator[_Piece]:
    text = source.text
    at = start + 1
    items = list(node.pairs.items())
    above_next = _comments(text[at : items[0][1][0].start])
    for index, (name, (key, value)) in enumerate(items):
        stop = _end_of(text, value)
        until = items[index + 1][1][0].start if index + 1 < len(items) else end
        first, _, others = text[stop:until].partition("\n")
        behind = first.strip()
        above, above_next = above_next, _comments(others)
        if not behind.startswith("#"):
            behind = ""
        yield _Piece(name, above, list(_lines(source, name, key, value, stop, namespace)), behind)


def _comments(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _lines(source: Source, name: str, key: ScalarNode, value: Node, stop: int, namespace: str) -> Iterator[str]:
    """Yield the lines of a key and its value, from the first column on."""
    text = source.text
    word = text[key.start : key.end]
    if key.plain:
        word = ", ".join(part.strip() for part in word.split(","))  # CPU, CUDA
    if type(value) is ScalarNode and (made := _scalar(source, name, value, stop, namespace)) is not None:
        yield f"{word}: {made}".rstrip()
        return
    if type(value) is SequenceNode and (words := _words(text, value)) is not None:
        yield f"{word}: [{', '.join(words)}]"
        return
    first, *others = text[key.end : stop].split("\n")
    head = re.sub(r"^\s*:\s*", ": ", first).rstrip()
    yield f"{word}{head}".rstrip()
    yield from _shifted(others, is_fixed=bool(_NUMBERED.match(text, value.start)))


def _scalar(source: Source, name: str, value: ScalarNode, stop: int, namespace: str) -> str | None:
    """Return a value of one line; None for longer ones."""
    text = source.text[value.start : stop]
    if "\n" in source.text[value.start : value.end].rstrip() or "\n" in text:
        return None
    if value.plain and _form(name) is Form.WORDS:
        words = [each.strip() for each in text.split(",")]
        return ", ".join(words) if all(words) else text
    if value.plain and _form(name) is Form.SCHEMA:
        made = _schema_text(value, namespace)
        return made if made and ": " not in made and " #" not in made else text
    return text


def _words(text: str, value: SequenceNode) -> list[str] | None:
    """Return the words of a list in brackets on one line; None for other lists."""
    written = text[value.start : value.end]
    if not written.startswith("[") or "\n" in written:
        return None
    words = [text[item.start : item.end] for item in value.items]
    return words if all(_PLAIN.fullmatch(word) for word in words) else None


def _shifted(lines: Sequence[str], *, is_fixed: bool) -> Iterator[str]:
    """Yield the lines below a key moved, so that the leftmost is two columns to the right of the key."""
    said = [line for line in lines if line.strip()]
    least = min((len(line) - len(line.lstrip(" ")) for line in said), default=0)
    for line in lines:
        shown = line if is_fixed else f"{' ' * _INDENT}{line[least:]}"
        yield shown if line.strip() else ""
