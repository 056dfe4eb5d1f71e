"""Positions in its file of each part of a schema. Found by parsing again, when an error needs it."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from lark import Lark, Token, Tree

from opwright_codegen.parsing.grammars import SCHEMA
from opwright_codegen.parsing.tables import lark_of
from opwright_codegen.source import Source, Span

__all__ = ["ArgumentSpans", "Place", "ReturnSpans", "SchemaSpans", "extent", "locate", "precise_parser"]


class ArgumentSpans(NamedTuple):
    whole: Span
    type: Span
    name: Span
    default: Span | None


class ReturnSpans(NamedTuple):
    whole: Span
    type: Span
    name: Span | None


class SchemaSpans(NamedTuple):
    """The positions of the parts of a schema in its file; arguments and returns in the schema's order."""

    whole: Span
    name: Span
    arguments: tuple[ArgumentSpans, ...]
    returns: tuple[ReturnSpans, ...]
    stars: tuple[Span, ...]


@cache
def precise_parser() -> Lark:
    """Return Lark's parser of schemas, with its own lexer, which keeps positions."""
    return lark_of(SCHEMA, propagate_positions=True)


class Place:
    """A map of offsets in a schema's text to spans of the file it stands in."""

    def __init__(self, text: str, span: Span | None) -> None:
        self._span = span if span is not None else Source("<schema>", text).whole()
        # The text of a quoted or folded YAML scalar need not be in the file as it is: then the whole scalar is shown.
        self._offset = self._span.text.find(text) if text else 0

    def __call__(self, start: int, end: int) -> Span:
        return self._span if self._offset < 0 else self._span.sub(self._offset + start, self._offset + end)


def locate(text: str, span: Span | None = None) -> SchemaSpans:
    """Return where the parts of a schema that parses stand in its file."""
    place = Place(text, span)
    arguments: list[ArgumentSpans] = []
    returns: list[ReturnSpans] = []
    stars: list[Span] = []
    operator, *rest = precise_parser().parse(text, start="schema").children
    assert isinstance(operator, Token)
    for child in rest:
        for item in _leaves(child):
            match item:
                case Token(type="STAR"):
                    stars.append(place(*extent(item)))
                case Token(type="ARGUMENT") | Tree(data="argument"):
                    whole, type, name, default = _parts(item, "argument")
                    assert type is not None and name is not None
                    arguments.append(
                        ArgumentSpans(place(*whole), place(*type), place(*name), place(*default) if default else None)
                    )
                case Token(type="RESULT") | Tree(data="result" | "bare_result"):
                    whole, type, name, _ = _parts(item, "result")
                    assert type is not None
                    returns.append(ReturnSpans(place(*whole), place(*type), place(*name) if name else None))
    return SchemaSpans(place(0, len(text)), place(*extent(operator)), tuple(arguments), tuple(returns), tuple(stars))


_Extent = tuple[int, int]


def _leaves(node: Token | Tree[Token]) -> list[Token | Tree[Token]]:
    """Return the items of a list of arguments or returns, whose rule recurses to the left."""
    found: list[Token | Tree[Token]] = []
    while isinstance(node, Tree) and node.data in ("arguments", "returns", "items", "results"):
        if not node.children:
            return found[::-1]
        node, *later = node.children
        found += reversed(later)
    if isinstance(node, Tree) and node.data == "bare_result" and isinstance(node.children[0], Token):
        first = node.children[0]
        node = first if first.type == "RESULT" else node
    found.append(node)
    return found[::-1]


def _parts(item: Token | Tree[Token], rule: str) -> tuple[_Extent, _Extent | None, _Extent | None, _Extent | None]:
    """Return the extents of an argument or result: the whole, its type, its name, its default."""
    shift = 0
    whole = extent(item)
    if isinstance(item, Token):
        shift = whole[0]
        item = precise_parser().parse(str(item), start=rule)
    parts = [extent(child, shift) for child in item.children]
    return whole, *(parts + [None] * 3)[:3]  # type: ignore[return-value]


def extent(node: Token | Tree[Token], shift: int = 0) -> _Extent:
    at = node if isinstance(node, Token) else node.meta
    assert at.start_pos is not None and at.end_pos is not None
    return at.start_pos + shift, at.end_pos + shift
