"""The reader of YAML text into a tree that knows where each key and value stands.

The event layer of PyYAML is used, not its node layer: nodes are composed by C recursion, which a deeply nested file
overflows. What a schema file has no use for (tags, anchors, aliases, several documents) is refused, so nothing is
constructed, resolved or expanded: `on` is the text "on", and a bomb of aliases stays the few lines it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from opwright_codegen.errors import MAX_ERRORS, Errors, SchemaError, shorten
from opwright_codegen.records import dataclass
from opwright_codegen.schema.annotation_hints import annotation_hint
from opwright_codegen.source import Source, Span

__all__ = [
    "MappingNode",
    "Node",
    "Pair",
    "ScalarNode",
    "SequenceNode",
    "describe",
    "read_document",
    "read_entries",
]

MAX_DEPTH = 100

# The type stubs of PyYAML know neither the tag of an event nor that its marks are always there.
_Event = Any
_Loader: type[yaml.SafeLoader] | type[yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class ScalarNode:
    """A value as it is written; `start` and `end` are offsets into the source, quotes included."""

    text: str
    plain: bool
    start: int
    end: int


@dataclass(slots=True)
class SequenceNode:
    items: list[Node]
    start: int
    end: int


@dataclass(slots=True)
class MappingNode:
    """A mapping. Its keys are texts; each is kept as a scalar too, for its position."""

    pairs: dict[str, Pair]
    start: int
    end: int


Node = ScalarNode | SequenceNode | MappingNode
Pair = tuple[ScalarNode, Node]


def read_entries(
    source: Source, errors: Errors, otherwise: Callable[[Source], SchemaError | None] | None = None
) -> Iterator[Node]:
    """Yield the items of the list in `source`, one by one, until the end or the first position that is not YAML.

    `otherwise` may know what a file is that holds no list.
    """
    yield from _without_raising(lambda reader: reader.items(otherwise), source, errors)


def read_document(source: Source, errors: Errors) -> Node | None:
    """Return what `source` holds, whatever it is; None where it is no YAML."""
    return next(_without_raising(lambda reader: reader.document(), source, errors), None)


def _without_raising(read: Callable[[_Reader], Iterator[Node]], source: Source, errors: Errors) -> Iterator[Node]:
    """Yield what is read, and record what is wrong with the file."""
    try:
        yield from read(_Reader(source, errors))
    except SchemaError as error:
        errors.add(error)
    except yaml.YAMLError as error:
        errors.add(_syntax_error(error, source))
    except UnicodeEncodeError as error:
        span = Span(source, error.start, error.start + 1)
        errors.add(SchemaError("yaml-character", "a lone surrogate is not a character", span))


def describe(node: Node) -> str:
    """Say what `node` is, for an error message."""
    match node:
        case ScalarNode(text="" | "~" | "null" | "Null" | "NULL", plain=True):
            return "nothing"
        case ScalarNode():
            return f"the text {shorten(node.text)!r}"
        case SequenceNode():
            return "a list"
        case MappingNode():
            return "a mapping"


class _Reader:
    def __init__(self, source: Source, errors: Errors) -> None:
        self._source = source
        self._errors = errors
        self._next: Callable[[], _Event] = _Loader(source.text).get_event

    def items(self, otherwise: Callable[[Source], SchemaError | None] | None) -> Iterator[Node]:
        root = self._root()
        if type(root) is not SequenceStartEvent:
            if otherwise is not None and (error := otherwise(self._source)) is not None:
                raise error
            # Not built: it may be anything, of any depth.
            raise SchemaError(
                "not-a-list",
                "a list of entries is expected",
                self._head(root),
                "each entry is a mapping that begins with '- '",
            )
        self._refuse_decoration(root)
        while type(event := self._next()) is not SequenceEndEvent:
            yield self._node(event, 2)
            self._stop_if_hopeless(event)
        self._finish()

    def document(self) -> Iterator[Node]:
        node = self._node(self._root(), 1)
        self._finish()
        yield node

    def _root(self) -> _Event:
        """Return the first event of the document."""
        self._next()
        if isinstance(self._next(), StreamEndEvent):
            hint = "write a list of '- func: …' entries"
            raise SchemaError("empty-file", "the file is empty", self._source.whole().sub(0, 0), hint)
        return self._next()

    def _finish(self) -> None:
        """Raise SchemaError where another document follows."""
        self._next()
        if isinstance(event := self._next(), DocumentStartEvent):
            raise SchemaError("second-document", "one file holds one YAML document", self._head(event))

    def _node(self, event: _Event, depth: int) -> Node:
        kind = type(event)
        if kind is ScalarEvent:
            if event.anchor is not None or event.tag is not None:
                self._refuse_decoration(event)
            return ScalarNode(event.value, not event.style, event.start_mark.index, event.end_mark.index)
        if kind is AliasEvent:
            hint = "write the value out"
            raise SchemaError("yaml-alias", f"the alias *{event.anchor} is not read", self._span(event), hint)
        if depth >= MAX_DEPTH:
            raise SchemaError("too-deep", f"nested more than {MAX_DEPTH} levels deep", self._head(event))
        self._refuse_decoration(event)
        if kind is SequenceStartEvent:
            return self._sequence(event, depth + 1)
        return self._mapping(event, depth + 1)

    def _sequence(self, start: _Event, depth: int) -> SequenceNode:
        items = []
        next_event = self._next
        while type(event := next_event()) is not SequenceEndEvent:
            items.append(self._node(event, depth))
        return SequenceNode(items, start.start_mark.index, _end(start, items[-1] if items else None, event))

    def _mapping(self, start: _Event, depth: int) -> MappingNode:
        pairs: dict[str, Pair] = {}
        value: Node | None = None
        next_event = self._next
        while type(event := next_event()) is not MappingEndEvent:
            key = self._node(event, depth)
            value = self._node(next_event(), depth)
            if type(key) is not ScalarNode:
                span = Span(self._source, key.start, key.end)
                self._errors.add(SchemaError("key-type", f"a key is one word, not {describe(key)}", span))
                self._stop_if_hopeless(event)
            elif key.text in pairs:
                first = pairs[key.text][0]
                line = Span(self._source, first.start, first.end).line
                span = Span(self._source, key.start, key.end)
                message = f"the key {shorten(key.text)!r} appears twice"
                self._errors.add(SchemaError("duplicate-key", message, span, f"it is given in line {line} already"))
                self._stop_if_hopeless(event)
            else:
                pairs[key.text] = (key, value)
        return MappingNode(pairs, start.start_mark.index, _end(start, value, event))

    def _refuse_decoration(self, event: _Event) -> None:
        if event.anchor is not None:
            self._errors.add(
                SchemaError("yaml-anchor", f"the anchor &{event.anchor} is not read", self._head(event), "leave it out")
            )
        if event.tag is not None:
            message = f"the YAML tag {shorten(event.tag)!r} is not read"
            self._errors.add(SchemaError("yaml-tag", message, self._head(event), "leave it out: values are plain text"))

    def _stop_if_hopeless(self, event: _Event) -> None:
        if self._errors.is_full:
            message = f"{MAX_ERRORS} errors of different causes and more: reading stops here"
            raise SchemaError("too-many-errors", message, self._head(event))

    def _span(self, event: _Event) -> Span:
        return Span(self._source, event.start_mark.index, event.end_mark.index)

    def _head(self, event: _Event) -> Span:
        """Return the first character of what `event` begins: its end may be far away."""
        start = min(event.start_mark.index, len(self._source.text))
        return Span(self._source, start, min(start + 1, len(self._source.text)))


def _end(start: _Event, last: Node | None, end: _Event) -> int:
    """Return where a list or a mapping ends: at its bracket, or with its last item (YAML runs on to the next token)."""
    offset: int = last.end if last is not None and not start.flow_style else end.end_mark.index
    return offset


# What YAML allows in a file, from its specification (c-printable).
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HINTS = {
    "mapping values are not allowed in this context": "put the text in quotes: it holds a colon followed by a space",
    "found a tab character that violates indentation": "indent with spaces: YAML takes no tab there",
    "found character that cannot start any token": "indent with spaces; put a text that begins with @ or ` in quotes",
    "found unexpected end of stream": "a quote or a bracket is never closed",
    "could not find expected ':'": "a space follows the colon of a key: 'meta: like(x)'",
    "did not find expected key": "the keys of an entry begin in the same column",
    "did not find expected '-' indicator": "the entries of a list begin in the same column",
}


def _syntax_error(error: yaml.YAMLError, source: Source) -> SchemaError:
    match error:
        case yaml.MarkedYAMLError():
            problem = error.problem or error.context or "this is not YAML"
            mark = error.problem_mark or error.context_mark
            if problem == "found unexpected end of stream":
                mark = error.context_mark or mark  # where the quote is opened, not where the file ends
            at = min(mark.index, len(source.text)) if mark else 0
            message = f"{problem} ({error.context})" if error.context and error.problem else problem
            hint = _indentation(source, at) or _annotation(source, at) or _HINTS.get(problem)
            return SchemaError("yaml-syntax", message, Span(source, at, min(at + 1, len(source.text))), hint)
        case _:
            found = _UNPRINTABLE.search(source.text)
            at = found.start() if found else 0
            character = f"U+{ord(found[0]):04X}" if found else "a character"
            span = Span(source, at, min(at + 1, len(source.text)))
            return SchemaError("yaml-character", f"{character} may not appear in YAML", span)


_LINES_ABOVE = 50
_KEY_LINE = re.compile(r"([ ]*)(- +)?[A-Za-z_][\w, ]*:(?= |$)")


def _indentation(source: Source, at: int) -> str | None:
    """Return what is wrong with the column in which the line of an error begins, compared with the lines before it."""
    number, _ = source.place(at)
    starts = source.line_starts(at)
    key = _KEY_LINE.match(_line(source, starts[number - 1]))
    if key is None:
        return None
    columns: dict[int, int] = {}  # of keys, or of entries if the line begins one: the line nearest above
    for above in range(number - 1, max(number - _LINES_ABOVE, 0), -1):
        before = _KEY_LINE.match(_line(source, starts[above - 1]))
        if before is None:
            continue
        if before[2] or not key[2]:
            columns.setdefault(len(before[1]) + (0 if key[2] else len(before[2] or "")), above)
        if before[2]:
            break
    if not columns or len(key[1]) in columns:
        return None
    wanted = min(columns, key=lambda column: abs(column - len(key[1])))
    which = "deeper" if len(key[1]) > wanted else "less deep"
    spaces = f"{wanted} space{'s' * (wanted != 1)}" if wanted else "no space"
    return f"line {number} is indented {which} than line {columns[wanted]}: begin it with {spaces}"


def _line(source: Source, start: int) -> str:
    end = source.text.find("\n", start)
    return source.text[start : min(end if end >= 0 else len(source.text), start + 1000)]


def _annotation(source: Source, at: int) -> str | None:
    """Return the hint for a schema with an annotation of Python, which YAML takes for a key: `f(x: Tensor)`."""
    line = _line(source, source.line_starts(at)[source.place(at)[0] - 1])
    before, _, schema = line.partition("func:")
    return annotation_hint(schema) if schema and not before.strip("- ") else None
