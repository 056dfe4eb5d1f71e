"""The meaning of formula.lark: a formula's text to a formula."""

from __future__ import annotations

import keyword
import math
import re
from functools import cache, lru_cache
from typing import Any

from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    List,
    Name,
    Slice,
    Subscript,
    Tuple,
    Unary,
    depth,
)
from opwright_codegen.formula.positions import place
from opwright_codegen.parsing.grammars import FORMULA
from opwright_codegen.parsing.parser import NoMatchError, Parser, Token, parser
from opwright_codegen.records import replace
from opwright_codegen.source import Span, Text

__all__ = ["MAX_DEPTH", "MAX_LENGTH", "parse"]

MAX_LENGTH = 10_000  # characters
MAX_DEPTH = 100  # formulas in formulas: what reads them recurses
MAX_INTEGER = 2**64


def parse(text: Text) -> Formula:
    """Return the formula that `text` is; `a, b` is a tuple. Raises SchemaError with the position in the file."""
    return _parse(text.text, text.span)


@lru_cache(4096)
def _parse(formula: str, span: Span) -> Formula:
    """Parse a text, remembered because one text is used for several keys and the variants of its operator."""
    text = Text(formula, span)
    if len(text.text) > MAX_LENGTH:
        raise SchemaError("formula-length", f"the formula has more than {MAX_LENGTH:,} characters", text.span)
    read, builder = _parser()
    builder.text = text
    try:
        found: Formula = read.parse(text.text, "start")
    except NoMatchError:
        from opwright_codegen.formula.errors import syntax_error

        raise syntax_error(text) from None
    if depth(found) > MAX_DEPTH:
        raise SchemaError("too-deep", f"the formula nests more than {MAX_DEPTH} levels deep", text.span)
    return found


@cache
def _parser() -> tuple[Parser, _Builder]:
    builder = _Builder()
    return parser(FORMULA, builder), builder


_PRECEDENCE = {
    "|": 0, "^": 1, "&": 2, "<<": 3, ">>": 3, "+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "@": 5,
}  # fmt: skip

_Children = list[Any]  # formulas, tokens, and what the methods for parts of a formula return


class _Builder:
    """The meaning of each rule of the grammar. Called by the parser itself, with all tokens: no tree is made."""

    text: Text

    def start(self, children: _Children) -> Formula:
        return children[0]  # type: ignore[no-any-return]

    def bare_tuple(self, children: _Children) -> Formula:
        return Tuple(_formulas(children), span=self._span(children))

    def group(self, children: _Children) -> Formula:
        """Return the formula in parentheses, which belong to its span."""
        inner: Formula = children[1]
        return replace(inner, span=self._span(children))

    def conditional(self, children: _Children) -> Formula:
        then, _, test, _, otherwise = children
        return Conditional(test, then, otherwise, span=self._span(children))

    def or_test(self, children: _Children) -> Formula:
        return Boolean(children[1].value, _formulas(children), span=self._span(children))

    and_test = or_test

    def negation(self, children: _Children) -> Formula:
        return Unary("not", children[1], span=self._span(children))

    def comparison(self, children: _Children) -> Formula:
        rest = tuple(zip(children[1::2], children[2::2], strict=True))
        for operator, operand in rest:
            if operator.startswith("is") and not (isinstance(operand, Constant) and operand.value is None):
                hint = f"to compare values write {'==' if operator == 'is' else '!='}"
                raise SchemaError("formula-is", f"{operator!r} compares with None alone", operand.span, hint)
        return Comparison(children[0], rest, span=self._span(children))

    def comparator(self, children: _Children) -> str:
        return " ".join(token.value for token in children)

    contains = lacks = same = differs = comparator

    def arithmetic(self, children: _Children) -> Formula:
        """Join operands and operators in turn; of those that wait, each binds tighter than the one before it."""
        operands: list[Formula] = [children[0]]
        waiting: list[Token] = []
        for operator, operand in zip(children[1::2], children[2::2], strict=True):
            while waiting and _PRECEDENCE[waiting[-1].value] >= _PRECEDENCE[operator.value]:
                self._combine(operands, waiting.pop())
            waiting.append(operator)
            operands.append(operand)
        while waiting:
            self._combine(operands, waiting.pop())
        return operands[0]

    def _combine(self, operands: list[Formula], operator: Token) -> None:
        right, left = operands.pop(), operands.pop()
        operands.append(self.power([left, operator, right]))

    def power(self, children: _Children) -> Formula:
        left, operator, right = children
        return Binary(operator.value, left, right, span=self._span(children))

    def unary(self, children: _Children) -> Formula:
        operator, operand = children
        return Unary(operator.value, operand, span=self._span(children))

    def attribute(self, children: _Children) -> Formula:
        value, _, name = children
        if name.value.startswith("_"):
            raise SchemaError("private-attribute", f"{name.value!r} is not a public attribute", self._span([name]))
        _refuse_keyword(name, self._span([name]))
        return Attribute(value, name.value, span=self._span(children))

    def call(self, children: _Children) -> Formula:
        arguments: list[Formula] = []
        keywords: dict[str, Formula] = {}
        for item in children[2:-1]:
            if isinstance(item, tuple):
                name, value = item
                if name.value in keywords:
                    message = f"the argument {name.value!r} is given twice"
                    raise SchemaError("repeated-argument", message, self._span([name]))
                keywords[name.value] = value
            elif not isinstance(item, Token):
                if keywords:
                    message = "an argument without a name follows one with a name"
                    raise SchemaError("argument-order", message, item.span)
                arguments.append(item)
        return Call(children[0], tuple(arguments), tuple(keywords.items()), span=self._span(children))

    def keyword(self, children: _Children) -> tuple[Token, Formula]:
        name, _, value = children
        _refuse_keyword(name, self._span([name]))
        return name, value

    def subscript(self, children: _Children) -> Formula:
        value, _, index, _ = children
        return Subscript(value, index, span=self._span(children))

    bare_index = bare_tuple

    def slice(self, children: _Children) -> Formula:
        bounds: list[Formula | None] = [None, None, None]
        at = 0
        for child in children:
            if isinstance(child, Token):
                at += 1
            else:
                bounds[at] = child
        return Slice(*bounds, span=self._span(children))

    def name(self, children: _Children) -> Formula:
        name = children[0].value
        if name.startswith("__") and name.endswith("__"):
            raise SchemaError("private-name", f"{name!r} is a name of Python's own", self._span(children))
        return Name(name, span=self._span(children))

    def number(self, children: _Children) -> Formula:
        return Constant(_number(children[0].value, self._span(children)), span=self._span(children))

    def string(self, children: _Children) -> Formula:
        return Constant(_string(children[0].value, self._span(children)), span=self._span(children))

    def none(self, children: _Children) -> Formula:
        return Constant(None, span=self._span(children))

    def true(self, children: _Children) -> Formula:
        return Constant(True, span=self._span(children))

    def false(self, children: _Children) -> Formula:
        return Constant(False, span=self._span(children))

    def ellipsis(self, children: _Children) -> Formula:
        return Constant(..., span=self._span(children))

    def empty_tuple(self, children: _Children) -> Formula:
        return Tuple((), span=self._span(children))

    def list(self, children: _Children) -> Formula:
        return List(_formulas(children), span=self._span(children))

    def _span(self, children: _Children) -> Span:
        start, end = self._place(children[0]), self._place(children[-1])
        return Span(start.source, start.start, end.end)

    def _place(self, child: Any) -> Span:
        if isinstance(child, Token):
            return place(self.text, child.start, child.end)
        span: Span = child.span
        return span


def _formulas(children: _Children) -> tuple[Formula, ...]:
    return tuple(child for child in children if not isinstance(child, Token))


def _refuse_keyword(name: Token, span: Span) -> None:
    if keyword.iskeyword(name.value):
        raise SchemaError("keyword", f"{name.value!r} is a Python keyword", span, f"write {name.value}_")


def _number(text: str, span: Span) -> int | float | complex:
    if re.fullmatch("0[0-9]+", text) and text.strip("0"):
        raise SchemaError("number", "a number does not begin with 0", span)
    if text[-1] in "jJ":
        value: int | float | complex = complex(0.0, float(text[:-1]))
    elif text.isdigit():
        value = int(text) if len(text) < 30 else MAX_INTEGER
    elif text[:2] in ("0x", "0X"):
        value = int(text, 16)
    else:
        value = float(text)
    if isinstance(value, int):
        if value >= MAX_INTEGER:
            raise SchemaError("number", "the integer has more than 64 bits", span)
    elif math.isinf(abs(value)):
        raise SchemaError("number", "the number is greater than any float", span, "write inf for infinity")
    return value


_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(0010[0-9a-fA-F]{4}|000[0-9a-fA-F]{5})|(.))")
_ESCAPED = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "r": "\r"}


def _string(text: str, span: Span) -> str:
    def character(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if code:
            return chr(int(code, 16))
        if found[4] not in _ESCAPED:
            hint = "known escapes: \\\\ \\' \\\" \\n \\t \\r \\xHH \\uHHHH \\UHHHHHHHH"
            raise SchemaError("escape", f"unknown escape {found[0]!r} in a text", span, hint)
        return _ESCAPED[found[4]]

    return _ESCAPE.sub(character, text[1:-1])
