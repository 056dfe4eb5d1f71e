"""Errors of a text that is no formula, and where each stands in its file."""

from __future__ import annotations

import re
from functools import cache

from lark import Lark, Token
from lark.exceptions import LarkError, UnexpectedCharacters, UnexpectedToken

from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.positions import place
from opwright_codegen.parsing.grammars import FORMULA
from opwright_codegen.parsing.tables import lark_of
from opwright_codegen.source import Text

__all__ = ["syntax_error"]

# What people write that formulas do not have: found at the error, after what stands before it.
_HINTS = (
    (r"", r"&&", "write: and"),
    (r"&\s*", r"&", "write: and"),
    (r"", r"\|\|", "write: or"),
    (r"\|\s*", r"\|", "write: or"),
    (r"", r"!(?!=)", "write: not"),
    (r"", r"\?", "write: a if condition else b"),
    (r"", r"::", "operators and functions are named without their namespace: name(…)"),
    (r"", r"->", "write: a.b"),
    (
        r"[A-Za-z_][\w.]*", r":[A-Za-z_]\w*\s*\(",
        "a function given by path stands alone, and gets every argument: package.module:name; to call it with other "
        "arguments, name its module in [tool.opwright], rules = [\"package.module\"], and write name(…)",
    ),
    (r"-\s*", r">", "write: a.b"),
    (r"", r":=", "formulas bind no names; write the value where it is used"),
    (r"", r"=(?!=)", "to compare values write =="),
    (r"\blambda\s*", r"", "formulas have no lambda"),
    (r"", r"for\b", "formulas have no comprehensions; put the loop into a function and name that"),
    (r"", r"\*\*?", "arguments and items are written out: there is no unpacking"),
    (r"\b[a-zA-Z]{1,2}", r"[\"']", "texts have no prefix"),
    (r"[\"']\s*", r"[\"']", "write one text, not several side by side"),
    (r"", r"[\"']", "a text ends with the quote it begins with, in the same line"),
    (r"", r"[{}]", "formulas have tuples and lists, no sets or mappings"),
    (r"", r"`", "names stand without quotes"),
    (r"", r"[0-9.]+[A-Za-z_]", "a name begins with a letter; numbers have no suffix but j"),
    (r"", r";", "a formula is one expression"),
    (r"", r"[\u2018-\u201f\u00ab\u00bb]", "write straight quotes, \" or ', in place of the typographic ones"),
    (r"", r"[^\x00-\x7f]", "names are of ASCII letters, digits and _"),
)  # fmt: skip
_HINT_PATTERNS = tuple((re.compile(f"(?:{before})\\Z"), re.compile(at), hint) for before, at, hint in _HINTS)
_CLOSING = {"(": ")", "[": "]"}


@cache
def _lark() -> Lark:
    return lark_of(FORMULA)


def syntax_error(text: Text) -> SchemaError:
    """Return the error that says why `text` is no formula."""
    try:
        _lark().parse(text.text)
    except LarkError as error:
        return _said(error, text)
    return SchemaError("formula-syntax", "this is not a formula", text.span)


def _said(error: LarkError, text: Text) -> SchemaError:
    match error:
        case UnexpectedCharacters(pos_in_stream=int(at)):
            return _unexpected(text, at, at + 1)
        case UnexpectedToken(token=Token(type="$END")):
            return _unexpected_end(text)
        case UnexpectedToken(token=Token(start_pos=int(start), end_pos=int(end))):
            return _unexpected(text, start, end)
        case _:
            return SchemaError("formula-syntax", "this is not a formula", text.span)


def _unexpected(text: Text, start: int, end: int) -> SchemaError:
    before, rest = text.text[max(0, start - 50) : start], text.text[start:end]
    following = text.text[start : start + 50]
    hint = next((hint for left, at, hint in _HINT_PATTERNS if left.search(before) and at.match(following)), None)
    shown = rest if len(rest) <= 30 else rest[:29] + "…"
    return SchemaError("formula-syntax", f"unexpected {shown!r} in a formula", place(text, start, end), hint)


def _unexpected_end(text: Text) -> SchemaError:
    if not text.text.strip():
        return SchemaError("formula-syntax", "a formula is expected", text.span)
    open_brackets: list[Token] = []
    for token in _lark().lex(text.text):
        if token.value in _CLOSING:
            open_brackets.append(token)
        elif open_brackets and token.value == _CLOSING[open_brackets[-1].value]:
            open_brackets.pop()
    if open_brackets:
        token = open_brackets[-1]
        at = token.start_pos or 0
        message, hint = f"{token.value!r} is never closed", f"add {_CLOSING[token.value]!r}"
        return SchemaError("formula-syntax", message, place(text, at, at + 1), hint)
    end = len(text.text.rstrip())
    return SchemaError("formula-syntax", "the formula ends too early", place(text, end, end))
