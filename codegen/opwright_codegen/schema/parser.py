"""The meaning of schema.lark: a schema's text to its parts; `model` makes the model of them."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from opwright_codegen.parsing.grammars import SCHEMA
from opwright_codegen.parsing.parser import NoMatchError, Parser, Token, parser
from opwright_codegen.schema.defaults import Literal, write_literal
from opwright_codegen.schema.types import (
    FRESH,
    Annotation,
    BaseType,
    ClassType,
    GenericType,
    ListType,
    OptionalType,
    Type,
    annotated,
)

__all__ = ["ArgumentParts", "ReturnParts", "SchemaParts", "Typed", "UnreadableError", "parse_parts"]


MAX_LENGTH = 20_000  # characters in a schema; PyTorch's longest has 1,200
MAX_DEPTH = 32  # types in types, lists in lists; more would only try Python's recursion limit
MAX_SIZE = 2**31 - 1  # of a sized list
_MAX_REMEMBERED = 20_000
_MAY_BE_FRESH = frozenset(("Dict", "Union"))  # of the types with types in parentheses


class UnreadableError(ValueError):
    """An error: the text is no schema; `schema.errors` finds out where and why."""


class Typed(NamedTuple):
    """A type as written: its canonical text, the type, its annotation, those of its lists, how deep it nests."""

    text: str
    type: Type
    annotation: Annotation | None
    lists: tuple[Annotation | None, ...]
    depth: int


class ArgumentParts(NamedTuple):
    """An argument and its canonical text, by which the model shares equal ones."""

    text: str
    type: Typed
    name: str
    default: Literal | None


class ReturnParts(NamedTuple):
    """A result and its canonical text."""

    text: str
    type: Typed
    name: str | None


class SchemaParts(NamedTuple):
    operator: str
    positional: list[ArgumentParts]
    kwarg_only: list[ArgumentParts]
    is_vararg: bool
    returns: list[ReturnParts]
    is_varret: bool


def parse_parts(text: str) -> SchemaParts:
    """Return the parts of a schema. Raises UnreadableError when the text is none."""
    if len(text) > MAX_LENGTH:
        raise UnreadableError(f"the schema has more than {MAX_LENGTH:,} characters")
    try:
        return _parser().parse(text, "schema")  # type: ignore[no-any-return] # what _Builder makes of the rule
    except ValueError as error:
        raise UnreadableError("this is not a schema" if isinstance(error, NoMatchError) else str(error)) from error


@cache
def _parser() -> Parser:
    builder = _Builder()
    builder.parser = parser(SCHEMA, builder)
    return builder.parser


_Children = list[Any]


class _Builder:
    """The meaning of each rule of the grammar. Called by the parser itself: no tree is made."""

    parser: Parser

    def __init__(self) -> None:
        self._plain: dict[tuple[str, str], Any] = {}

    def _read_plain(self, rule: str, text: str) -> Any:
        """Return what the text of one token is by the rule for its inside, found once."""
        found = self._plain.get((rule, text))
        if found is None:
            if len(self._plain) > _MAX_REMEMBERED:
                self._plain.clear()
            found = self._plain[rule, text] = self.parser.parse(text, rule)
        return found

    def schema(self, children: _Children) -> SchemaParts:
        operator, arguments, returns = children
        positional: list[ArgumentParts] = []
        kwarg_only: list[ArgumentParts] = []
        into, is_vararg = positional, False
        for item in arguments:
            if type(item) is ArgumentParts:
                into.append(item)
            elif item.type == "ELLIPSIS":
                is_vararg = True
            elif into is positional:
                into = kwarg_only
            else:
                raise UnreadableError("the keyword-only marker '*' may occur once")
        is_varret = bool(returns) and isinstance(returns[-1], Token)
        if is_varret:
            returns.pop()
        return SchemaParts(operator.value, positional, kwarg_only, is_vararg, returns, is_varret)

    def arguments(self, children: _Children) -> _Children:
        """Return the items between `(` and `)`, and perhaps `...`, without what is only punctuation."""
        if not children:
            return []
        items: _Children = children[0] if type(children[0]) is list else [children[0]]
        return [*items, children[1]] if len(children) == 2 else items

    returns = arguments

    def items(self, children: _Children) -> _Children:
        item = children[-1]
        if isinstance(item, Token) and item.type == "ARGUMENT":
            item = self._read_plain("argument", item.value)
        if len(children) == 1:
            return [item]
        children[0].append(item)
        return children[0]  # type: ignore[no-any-return]

    def results(self, children: _Children) -> _Children:
        item = children[-1]
        if isinstance(item, Token):
            item = self._read_plain("result", item.value)
        if len(children) == 1:
            return [item]
        children[0].append(item)
        return children[0]  # type: ignore[no-any-return]

    def bare_result(self, children: _Children) -> ReturnParts:
        first = children[0]
        if isinstance(first, Token) and first.type == "RESULT":
            return self._read_plain("result", first.value)  # type: ignore[no-any-return]
        return self.result(children)

    def argument(self, children: _Children) -> ArgumentParts:
        typed, name = self._typed(children[0]), children[1].value
        if len(children) == 2:
            return ArgumentParts(f"{typed.text} {name}", typed, name, None)
        default: Literal = children[2] if type(children[2]) is tuple else children[2].value
        return ArgumentParts(f"{typed.text} {name}={write_literal(default)}", typed, name, default)

    def result(self, children: _Children) -> ReturnParts:
        typed = self._typed(children[0])
        if len(children) == 1:
            return ReturnParts(typed.text, typed, None)
        return ReturnParts(f"{typed.text} {children[1].value}", typed, children[1].value)

    def _typed(self, child: Token | Typed) -> Typed:
        return child if isinstance(child, Typed) else self._read_plain("flat_type", child.value)

    def list_default(self, children: _Children) -> Literal:
        items = tuple(x if type(x) is tuple else x.value for x in children)
        if _list_depth(items) > MAX_DEPTH:
            raise UnreadableError(f"lists nest deeper than {MAX_DEPTH}")
        return items

    def flat_type(self, children: _Children) -> Typed:
        path = children[0].value
        core: Type = ClassType(path) if "." in path else BaseType("NoneType" if path == "None" else path)
        return _typed(core, children[1:], 1)

    def generic(self, children: _Children) -> Typed:
        return self._generic_type(children[0].value, children[1:])

    def tuple_type(self, children: _Children) -> Typed:
        return self._generic_type("Tuple", children)

    def _generic_type(self, name: str, children: _Children) -> Typed:
        args: list[Typed] = []
        for child in children:
            if isinstance(child, Annotation | tuple) and not isinstance(child, Typed):
                break
            child = self._typed(child)
            if child.annotation is not None or any(child.lists):
                raise UnreadableError("an alias annotation inside a type says nothing")
            args.append(child)
        if name not in _MAY_BE_FRESH and children[len(args) : len(args) + 1] == [FRESH]:
            raise UnreadableError(f"behind {'a tuple' if name == 'Tuple' else name} PyTorch reads no '!'")
        depth = 1 + max((arg.depth for arg in args), default=0)
        return _typed(GenericType(name, tuple(arg.type for arg in args)), children[len(args) :], depth)

    def suffix(self, children: _Children) -> tuple[str, Annotation | None]:
        return children[0].value, children[1] if len(children) == 2 else None

    def annotation(self, children: _Children) -> Annotation:
        before = children[0]
        write = len(children) > 1 and isinstance(children[1], Token)
        after = children[-1] if len(children) > 1 + write else ()
        return Annotation(before, write, after)

    def fresh(self, _: _Children) -> Annotation:
        return FRESH

    def before(self, children: _Children) -> tuple[str, ...]:
        return tuple(token.value for token in children)

    after = before


def _list_depth(items: tuple[Literal, ...]) -> int:
    return 1 + max((_list_depth(item) for item in items if isinstance(item, tuple)), default=0)


def _typed(core: Type, marks: _Children, depth: int) -> Typed:
    """Return `core` with the annotation and the suffixes (`?`, `[]`, each perhaps annotated) that follow it."""
    annotation: Annotation | None = None
    lists: list[Annotation | None] = []
    for mark in marks:
        if isinstance(mark, Annotation):
            annotation = mark
            continue
        sign, own = mark
        if sign == "?":
            if not isinstance(core, OptionalType):
                core = OptionalType(core)
            if own is not None:  # PyTorch prints `Tensor(a!)?[]` as `Tensor?(a!)[]`
                if annotation is not None or lists:
                    raise UnreadableError("an optional has no alias annotation of its own")
                annotation = own
        else:
            core = ListType(core, _size(sign[1:-1].strip()))
            lists.append(own)
        depth += 1
        if depth > MAX_DEPTH:
            break
    if depth > MAX_DEPTH:
        raise UnreadableError(f"types nest deeper than {MAX_DEPTH}")
    marks_of_lists = tuple(lists) if any(lists) else ()
    return Typed(annotated(core, annotation, marks_of_lists), core, annotation, marks_of_lists, depth)


def _size(digits: str) -> int | None:
    if not digits:
        return None
    if len(digits) > 10 or int(digits) > MAX_SIZE:
        raise UnreadableError(f"a list size is at most {MAX_SIZE:,}")
    return int(digits)
