"""Entries of derivatives.yaml as they are written: which lines an entry has, and where. What they mean comes later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opwright_codegen.derivatives.derivative import DEFAULT_KEY
from opwright_codegen.documents.nodes import entry_head, node_span, text_span, wrong_type
from opwright_codegen.documents.yaml_reader import MappingNode, Node, Pair, ScalarNode, SequenceNode, read_entries
from opwright_codegen.errors import Errors, SchemaError, nearest
from opwright_codegen.read.entries import read_schema
from opwright_codegen.read.values import read_boolean, read_text
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.schema.names import AUTOGRAD_KEYS
from opwright_codegen.source import Source, Span, Text

__all__ = ["Block", "Entry", "Line", "read_derivative_entries"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line `self, other: formula`: the names, each with its position, and the text."""

    names: tuple[Text, ...]
    text: Text


@dataclass(frozen=True, slots=True)
class Block:
    """The lines for one key."""

    key: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: a schema, its blocks, and `output_differentiability` as booleans or as the texts of conditions."""

    schema: FunctionSchema
    name: Text
    location: Span
    blocks: tuple[Block, ...]
    booleans: tuple[bool, ...] | None = None
    conditions: tuple[Text, ...] = ()
    outputs_span: Span | None = None


_SCHEMA = "name"
_DISPATCH = "dispatch"
_OUTPUTS = "output_differentiability"
_NO_CONDITION = ("yes", "no", "on", "off", "~", "null", "0", "1")  # somebody means a boolean


def read_derivative_entries(source: Source, errors: Errors, namespace: str) -> Iterator[Entry]:
    """Yield the entries that `source` holds; what is wrong goes to `errors`.

    Operators that are named without a namespace are in `namespace`.
    """
    for node in read_entries(source, errors):
        if type(node) is not MappingNode:
            errors.add(wrong_type("a mapping", node, source, "write '- name: sin(Tensor self) -> Tensor'"))
            continue
        if errors.is_full:
            return
        try:
            yield _read_entry(node, source, errors, namespace)
        except SchemaError as error:
            errors.add(error)


def _read_entry(node: MappingNode, source: Source, errors: Errors, namespace: str) -> Entry:
    if _SCHEMA not in node.pairs:
        hint = "every entry has one: name: sin(Tensor self) -> Tensor"
        raise SchemaError("missing-key", "the entry has no 'name'", entry_head(node, source), hint)
    pairs = dict(node.pairs)
    name = pairs.pop(_SCHEMA)[1]
    outputs = pairs.pop(_OUTPUTS, None)
    dispatch = pairs.pop(_DISPATCH, None)
    schema = read_schema(name, source, namespace)
    if dispatch is None:
        blocks = [Block(DEFAULT_KEY, tuple(_lines(pairs, source, errors)))]
    else:
        for key, _ in pairs.values():
            message = f"the line {key.text!r} stands beside 'dispatch'"
            hint = f"move it below a key of 'dispatch', for example {DEFAULT_KEY}"
            errors.add(SchemaError("line-beside-dispatch", message, node_span(key, source), hint))
        blocks = list(_blocks(dispatch[1], source, errors))
    booleans, conditions = _read_outputs(outputs, source)
    place = None if outputs is None else node_span(outputs[1], source)
    head = entry_head(node, source)
    return Entry(schema, read_text(name, source), head, tuple(blocks), booleans, conditions, place)


def _blocks(node: Node, source: Source, errors: Errors) -> Iterator[Block]:
    if type(node) is not MappingNode:
        hint = f"write '{DEFAULT_KEY}:' and below it lines such as 'self: grad'"
        raise wrong_type("a mapping from keys to derivatives", node, source, hint)
    for key, (key_node, value) in node.pairs.items():
        if key != DEFAULT_KEY and key not in AUTOGRAD_KEYS:
            near = nearest(key, AUTOGRAD_KEYS)
            known = ", ".join((DEFAULT_KEY, *AUTOGRAD_KEYS))
            hint = f"did you mean {near!r}? known keys: {known}" if near else f"known keys: {known}"
            message = f"{key!r} is no key for derivatives"
            errors.add(SchemaError("unknown-dispatch-key", message, node_span(key_node, source), hint))
        elif type(value) is not MappingNode:
            hint = "write lines such as 'self: grad'"
            errors.add(wrong_type("a mapping from inputs to formulas", value, source, hint))
        else:
            yield Block(key, tuple(_lines(value.pairs, source, errors)))


def _lines(pairs: Mapping[str, Pair], source: Source, errors: Errors) -> Iterator[Line]:
    for key, value in pairs.values():
        try:
            yield Line(tuple(_names(key, source)), read_text(value, source))
        except SchemaError as error:
            errors.add(error)


def _names(key: ScalarNode, source: Source) -> Iterator[Text]:
    """Yield the names of `self, other` with their positions."""
    span = text_span(key, source)
    at = 0
    for part in key.text.split(","):
        word = part.strip()
        start = at + len(part) - len(part.lstrip())
        yield Text(word, span.sub(start, start + max(len(word), 1)))
        at += len(part) + 1


def _read_outputs(pair: Pair | None, source: Source) -> tuple[tuple[bool, ...] | None, tuple[Text, ...]]:
    if pair is None:
        return None, ()
    node = pair[1]
    if type(node) is not SequenceNode:
        raise wrong_type("a list", node, source, "write [True, False]: one for each output")
    booleans: list[bool] = []
    conditions: list[Text] = []
    for item in node.items:
        if type(item) is ScalarNode and item.plain and item.text.lower() in ("true", "false"):
            booleans.append(read_boolean(item, source))
        elif type(item) is ScalarNode and item.text.strip() and item.text.lower() not in _NO_CONDITION:
            conditions.append(read_text(item, source))
        else:
            raise wrong_type("True, False or the text of a condition", item, source)
    if booleans and conditions:
        message = "booleans and conditions are mixed"
        hint = "a condition is for an operator with one output alone"
        raise SchemaError("output-differentiability", message, node_span(node, source), hint)
    return (None, tuple(conditions)) if conditions else (tuple(booleans), ())
