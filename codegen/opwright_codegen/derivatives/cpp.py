"""Formulas in C++, as PyTorch's derivatives.yaml has them, to formulas of our language.

Read is what one expression says: `a ? b : c`, `a && !b`, `x->f()`, `{a, b}`, `std::get<0>(f(x))`, `at::where(…)`. What
the names mean is not asked here (`counterparts`).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

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
    Subscript,
    Tuple,
    Unary,
)
from opwright_codegen.formula.parser import MAX_DEPTH, MAX_LENGTH
from opwright_codegen.formula.positions import place
from opwright_codegen.source import Span, Text

__all__ = ["parse_cpp"]

_TOKEN: Final = re.compile(
    r"""(?P<space>(?:\s+|/\*.*?\*/)+)
    |(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)[fFlLuU]*(?![\w.])
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<name>(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)(?P<template><[\w:,\s<>]*>(?=\s*[({]))?
    |(?P<sign>->|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%!~&|^<>?:()\[\]{},.])""",
    re.VERBOSE | re.DOTALL,
)
_LEVELS: Final = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"),
                  ("+", "-"), ("*", "/", "%"))  # fmt: skip
_PRECEDENCE: Final = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_WORDS: Final = {"true": True, "false": False, "nullptr": None, "std::nullopt": None, "at::Reduction::None": 0,
                 "at::Reduction::Mean": 1, "at::Reduction::Sum": 2}  # fmt: skip
_SAME: Final = frozenset(("optional", "OptionalArrayRef", "IntArrayRef", "SymIntArrayRef", "Scalar", "static_cast"))


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int
    template: str = ""


def parse_cpp(text: Text) -> Formula:
    """Return the formula that a C++ expression is. Raises SchemaError with the position in the file."""
    if len(text.text) > MAX_LENGTH:
        raise SchemaError("formula-length", f"the formula has more than {MAX_LENGTH:,} characters", text.span)
    parser = _Parser(text)
    found = parser.ternary()
    parser.expect("")
    return found


class _Parser:
    def __init__(self, text: Text) -> None:
        self._text = text
        self._tokens = self._lexed(text.text)
        self._at = 0
        self._depth = 0

    def _lexed(self, text: str) -> list[_Token]:
        tokens, at = [], 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:  # nothing takes it: an error, if no other comes first
                tokens.append(_Token("other", text[at], at, at + 1))
                at += 1
                continue
            kind = next(kind for kind in ("space", "number", "string", "name", "sign") if found[kind] is not None)
            if kind != "space":
                tokens.append(_Token(kind, found[kind], at, found.end(), found["template"] or ""))
            at = found.end()
        return [*tokens, _Token("end", "", at, at)]

    def ternary(self) -> Formula:
        """Return `test ? then : otherwise`, or what binds tighter."""
        self._depth += 1
        if self._depth > MAX_DEPTH // 4:  # each level of C++ is several of ours
            raise SchemaError("too-deep", f"the formula nests more than {MAX_DEPTH // 4} levels deep", self._text.span)
        start = self._tokens[self._at].start
        found = self._binary(0)
        if self._taken("?"):
            then = self.ternary()
            self.expect(":")
            found = Conditional(found, then, self.ternary(), span=self._span(start))
        self._depth -= 1
        return found

    def _binary(self, least: int) -> Formula:
        start = self._tokens[self._at].start
        left = self._unary()
        while _PRECEDENCE.get(self._tokens[self._at].text, -1) >= least and self._tokens[self._at].kind == "sign":
            operator = self._tokens[self._at].text
            self._at += 1
            right = self._binary(_PRECEDENCE[operator] + 1)
            left = _operation(operator, left, right, self._span(start))
        return left

    def _unary(self) -> Formula:
        start = self._tokens[self._at].start
        signs = []
        while self._tokens[self._at].text in ("!", "-", "+", "~", "*"):
            signs.append(self._tokens[self._at].text)
            self._at += 1
        if len(signs) > MAX_DEPTH // 4:
            raise SchemaError("too-deep", f"the formula nests more than {MAX_DEPTH // 4} levels deep", self._text.span)
        found = self._primary()
        for sign in reversed(signs):
            if sign != "*":  # of an optional value, which is the value here
                found = Unary("not" if sign == "!" else sign, found, span=self._span(start))
        return found

    def _primary(self) -> Formula:
        start = self._tokens[self._at].start
        found = self._atom()
        while True:
            if self._taken(".") or self._taken("->"):
                name = self._tokens[self._at]
                if name.kind != "name" or "::" in name.text:
                    raise self._error(name)
                self._at += 1
                found = Attribute(found, name.text, span=self._span(start))
            elif self._taken("("):
                found = Call(found, self._items(")"), span=self._span(start))
            elif self._taken("["):
                found = Subscript(found, self.ternary(), span=self._span(start))
                self.expect("]")
            else:
                return found

    def _atom(self) -> Formula:
        token = self._tokens[self._at]
        self._at += 1
        span = place(self._text, token.start, token.end)
        match token.kind:
            case "number":
                return Constant(_number(token.text, span), span=span)
            case "string":
                return Constant(token.text[1:-1], span=span)
            case "name" if token.text in _WORDS:
                return Constant(_WORDS[token.text], span=span)
            case "name":
                return self._named(token, span)
            case "sign" if token.text == "(":
                found = self.ternary()
                self.expect(")")
                return found
            case "sign" if token.text == "{":
                return List(self._items("}"), span=self._span(token.start))
            case _:
                raise self._error(token)

    def _named(self, token: _Token, span: Span) -> Formula:
        """Return a name without its namespaces; what templates and constructors of values make."""
        name = token.text.rpartition("::")[2]
        is_call = self._tokens[self._at].text == "("
        if not is_call or not (token.template or name in ("Tensor", *_SAME)):
            whole = token.text if token.text.rpartition("::")[0] in ("GradMode", "at::GradMode") else name
            return Name(whole, span=span)
        self._at += 1
        items = self._items(")")
        place_ = self._span(token.start)
        match name, items:
            case "get", (value,) if token.template[1:-1].strip().isdigit():
                return Subscript(value, Constant(int(token.template[1:-1])), span=place_)
            case "tuple", ():
                return Tuple((Constant(None),) * (token.template.count(",") + 1), span=place_)
            case "vector", (count, value):
                return Binary("*", List((value,)), count, span=place_)
            case ("vector", ()):
                return List((), span=place_)
            case (_, (value,)) if name in _SAME:
                return value
            case ("Tensor" | "optional", ()):
                return Constant(None, span=place_)
            case _:
                return Call(Name(name, span=span), items, span=place_)

    def _items(self, closing: str) -> tuple[Formula, ...]:
        items: list[Formula] = []
        while not self._taken(closing):
            if items:
                self.expect(",")
            items.append(self.ternary())
        return tuple(items)

    def _taken(self, sign: str) -> bool:
        found = self._tokens[self._at].kind == "sign" and self._tokens[self._at].text == sign
        self._at += found
        return found

    def expect(self, sign: str) -> None:
        """Skip the sign; the end for none. Raises SchemaError for anything else."""
        token = self._tokens[self._at]
        if token.text != sign or token.kind not in ("sign", "end"):
            raise self._error(token)
        self._at += token.kind != "end"

    def _span(self, start: int) -> Span:
        return place(self._text, start, self._tokens[self._at - 1].end)

    def _error(self, token: _Token) -> SchemaError:
        hint = "a formula is one expression of C++, without lambdas and assignments, or of our language"
        if token.kind == "end":
            span = place(self._text, token.start, token.end)
            return SchemaError("formula-syntax", "the formula ends too early", span, hint)
        shown = token.text if len(token.text) <= 30 else token.text[:29] + "…"
        span = place(self._text, token.start, token.end)
        return SchemaError("formula-syntax", f"unexpected {shown!r} in a formula", span, hint)


def _operation(operator: str, left: Formula, right: Formula, span: Span) -> Formula:
    match operator:
        case "&&" | "||":
            return Boolean("and" if operator == "&&" else "or", (left, right), span=span)
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            return Comparison(left, ((operator, right),), span=span)
        case _:
            return Binary(operator, left, right, span=span)


def _number(text: str, span: Span) -> int | float:
    if text.isdigit():
        if len(text) > 19 or (len(text) > 1 and text[0] == "0"):
            raise SchemaError("number", "the integer has more than 64 bits, or begins with 0", span)
        return int(text)
    return float(text)
