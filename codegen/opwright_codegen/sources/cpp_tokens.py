"""The scanner of C++: a text to the tokens that registrations are made of, each looked at once.

Comments, directives and what stands under `#if 0` are skipped; of directives the simple `#define`s are kept, and where
macros hide registrations.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from opwright_codegen.errors import SchemaError
from opwright_codegen.source import Source

__all__ = ["Token", "Tokens", "cpp_error"]

WORD, TEXT, SIGN = "word", "text", "sign"


class Token(NamedTuple):
    """A word (a name or a number), a text (a string literal, decoded) or a sign; where it starts and ends."""

    kind: str
    text: str
    start: int
    end: int


_SPACE = re.compile(r"[ \t\r\n\f\v]+")
_WORD = re.compile(r"[^\W\d]\w*+")
_NUMBER = re.compile(r"\.?\d(?:[eEpP][+-]|[\w.]|'\w)*+")
_RAW = re.compile(r'(?:u8|[uUL])?R"([^()\\\s]{0,16})\(')
_TEXT = re.compile(r'(?:u8|[uUL])?"((?:[^"\\\n]++|\\.)*+)"', re.DOTALL)
_CHARACTER = re.compile(r"(?:u8|[uUL])?'(?:[^'\\\n]|\\.){1,16}'", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:(\r?\n)|x([0-9A-Fa-f]{1,8})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-7]{1,3})|(.))", re.DOTALL
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_DIRECTIVE = re.compile(r"#[ \t]*+(\w*+)")
_DEFINE = re.compile(r"#[ \t]*+define[ \t]++(\w++)[ \t]++(\w++)[ \t\r]*+(?://[^\n]*+)?")
_HIDDEN = re.compile(r"\bTORCH_LIBRARY\w*+[ \t]*+\(|\.def[ \t]*+\(")


def cpp_error(source: Source, start: int, message: str, hint: str) -> SchemaError:
    """Return the error that a source file of others is broken."""
    end = min(start + 1, len(source.text))
    return SchemaError("source-syntax", message, source.whole().sub(start, end), hint)


class Tokens:
    """The tokens of a source, taken one by one, with a look ahead.

    `defines` are the macros that stand for one word; `hidden` the positions of macros with registrations in them;
    `conditions` the number of `#if`, `#else` and `#endif` so far.
    """

    def __init__(self, source: Source) -> None:
        self.defines: dict[str, str] = {}
        self.hidden: list[int] = []
        self.conditions = 0
        self._source = source
        self._text = source.text
        self._ahead: deque[Token] = deque()
        self._scan = self._tokens()

    def take(self) -> Token | None:
        """Return the next token; None at the end. Raises SchemaError for a comment or a text that never ends."""
        return self._ahead.popleft() if self._ahead else next(self._scan, None)

    def peek(self, ahead: int = 0) -> str:
        """Return the text of a sign or a word that comes, or "" for what is neither."""
        while len(self._ahead) <= ahead:
            token = next(self._scan, None)
            if token is None:
                return ""
            self._ahead.append(token)
        token = self._ahead[ahead]
        return "" if token.kind is TEXT else token.text

    def _tokens(self) -> Iterator[Token]:
        text, at, line_begins = self._text, 0, True
        while True:
            if found := _SPACE.match(text, at):
                line_begins = line_begins or "\n" in found[0] or "\r" in found[0]
                at = found.end()
            if at >= len(text):
                return
            sign = text[at]
            if sign == "/" and text.startswith(("//", "/*"), at):
                at = self._after_comment(at)
                continue
            if sign == "#" and line_begins:
                at = self._after_directive(at)
                continue
            line_begins = False
            token = self._token(at, sign)
            at = token.end
            yield token

    def _token(self, at: int, sign: str) -> Token:
        text = self._text
        if sign in 'uULR"':
            if found := _RAW.match(text, at):
                end = text.find(f'){found[1]}"', found.end())
                if end < 0:
                    raise cpp_error(self._source, at, "the raw string never ends", f'it ends with ){found[1]}"')
                return Token(TEXT, text[found.end() : end], at, end + len(found[1]) + 2)
            if found := _TEXT.match(text, at):
                return Token(TEXT, _ESCAPE.sub(_unescape, found[1]), at, found.end())
        if sign == '"':
            raise cpp_error(self._source, at, "the string never ends", 'a " ends it, in the same line')
        if sign in "'uUL" and (found := _CHARACTER.match(text, at)):
            return Token(SIGN, "'", at, found.end())
        if found := _WORD.match(text, at) or _NUMBER.match(text, at):
            return Token(WORD, found[0], at, found.end())
        if text.startswith(("::", "->"), at):
            return Token(SIGN, text[at : at + 2], at, at + 2)
        return Token(SIGN, sign, at, at + 1)

    def _after_comment(self, at: int) -> int:
        if self._text[at + 1] == "/":
            return self._end_of_line(at)
        end = self._text.find("*/", at + 2)
        if end < 0:
            raise cpp_error(self._source, at, "the comment never ends", "*/ ends it")
        return end + 2

    def _end_of_line(self, at: int) -> int:
        """Return where a line ends, with those that a backslash at its end adds to it."""
        text = self._text
        while True:
            end = text.find("\n", at)
            if end < 0:
                return len(text)
            if not text[max(at, end - 2) : end].rstrip("\r").endswith("\\"):
                return end
            at = end + 1

    def _after_directive(self, at: int) -> int:
        """Note what a directive says that matters here, and return where what it leaves out ends."""
        end = self._end_of_directive(at)
        found = _DIRECTIVE.match(self._text, at)
        word = found[1] if found else ""
        if word == "define":
            if simple := _DEFINE.fullmatch(self._text, at, end):
                self.defines.setdefault(simple[1], simple[2])
            elif _HIDDEN.search(self._text, at, end):
                self.hidden.append(at)
        elif word in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
            self.conditions += 1
            if word == "if" and self._text[found.end() if found else at : end].strip() == "0":
                return self._after_left_out(end)
        return end

    def _end_of_directive(self, at: int) -> int:
        """Return the end of the line, or the start of a comment on it that goes on."""
        end = self._end_of_line(at)
        comment = self._text.find("/*", at, end)
        if comment < 0 or self._text.find("//", at, comment) >= 0 or self._text.find('"', at, comment) >= 0:
            return end
        return comment

    def _after_left_out(self, at: int) -> int:
        """Return where what stands under `#if 0` ends: at its `#else` or `#endif`."""
        depth = 1
        while at < len(self._text):
            at += 1
            line = _SPACE.match(self._text, at)
            found = _DIRECTIVE.match(self._text, line.end() if line else at)
            if found:
                depth += found[1] in ("if", "ifdef", "ifndef")
                depth -= found[1] == "endif" or (depth == 1 and found[1] in ("else", "elif"))
                if not depth:
                    return self._end_of_line(found.end())
                at = found.end()
            at = self._end_of_line(at)
        return at


def _unescape(found: re.Match[str]) -> str:
    line, *numbers, other = found.groups()
    if line:
        return ""
    for digits, base in zip(numbers, (16, 16, 16, 8), strict=True):
        if digits:
            code = int(digits, base)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return _ESCAPED.get(other, other)
