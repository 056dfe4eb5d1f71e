"""Declarations as the runtime reads them, `(Tensor self, *, int x=1) -> Tensor`: canonical text, parsed before."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.dispatch.call.conversion import base_type, plain_type

__all__ = ["REQUIRED", "Argument", "Declaration", "read", "split_types"]

REQUIRED: Final = object()

# What defaults write as words; the rest (dtypes, devices) converters know by name.
_WORDS: Final[dict[str, Any]] = {
    "None": None,
    "True": True,
    "False": False,
    "Mean": 1,
    "Sum": 2,
    **{layout.name: layout for layout in Layout},
    **{memory_format.name: memory_format for memory_format in MemoryFormat},
}
_SIZED: Final = re.compile(r"\[(\d+)\]")
_ESCAPE: Final = re.compile(r"\\(?:([0-7]{1,3})|(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class Argument(NamedTuple):
    """An argument: its type without and with the annotation, `Tensor` and `Tensor(a!)`, and its default or REQUIRED."""

    name: str
    type: str
    annotated: str
    default: Any
    is_keyword_only: bool


class Declaration(NamedTuple):
    """A declaration, read. Types of results are as they are written, `Tensor(a!)`; names may be empty."""

    arguments: tuple[Argument, ...]
    results: tuple[str, ...]
    names_of_results: tuple[str, ...]


def read(declaration: str) -> Declaration:
    """Read a declaration. Raises ValueError where brackets are not closed."""
    end = _closing(declaration, 0)
    words = _split(declaration[1:end])
    first = words.index("*") if "*" in words else len(words)
    arguments = [_argument(word, at > first) for at, word in enumerate(words) if word not in ("*", "...")]
    results = split_types(declaration[end + 1 :].partition("->")[2].strip())
    annotated = [_without_name(result) for result in results]
    names = [result[len(text) :].strip() for result, text in zip(results, annotated, strict=True)]
    return Declaration(tuple(arguments), tuple(annotated), tuple(names))


def split_types(text: str) -> list[str]:
    """Return the types in brackets, `(Tensor, int[2])`; a text without brackets is one."""
    is_several = text.startswith("(") and _closing(text, 0) == len(text) - 1
    return _split(text[1:-1]) if is_several else [text]


def _argument(text: str, is_keyword_only: bool) -> Argument:
    annotated = _without_name(text)
    name, _, default = text[len(annotated) :].strip().partition("=")
    declared = plain_type(annotated)
    value = _default(default, declared) if default else REQUIRED
    return Argument(name, declared, annotated, value, is_keyword_only)


def _default(text: str, declared: str) -> Any:
    """Return the value that a default's text means for the type: `int[2] x=1` means (1, 1)."""
    value = _value(text, base_type(declared))
    sized = None if value is None or isinstance(value, tuple) else _SIZED.search(declared)
    return value if sized is None else (value,) * int(sized[1])


def _value(text: str, base: str) -> Any:
    if text[0] == "[":
        return tuple([_value(item, base) for item in _split(text[1:-1])])
    if text[0] in "\"'":
        return _ESCAPE.sub(_unescape, text[1:-1])
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "-.0123456789" or text in ("inf", "nan") or (text[-1] == "j" and text[:3] in ("inf", "nan")):
        if text[-1] == "j" or base == "complex":
            return complex(text)
        return int(text) if base != "float" and text.lstrip("-").isdigit() else float(text)
    return text


def _unescape(found: re.Match[str]) -> str:
    octal, code, char = found.groups()
    if char is not None:
        return _ESCAPED.get(char, char)
    return chr(int(octal, 8) if octal else int(code[1:], 16))


def _closing(text: str, start: int) -> int:
    depth = 0
    quote = ""
    position = start
    while position < len(text):
        letter = text[position]
        if quote:
            if letter == "\\":
                position += 1
            elif letter == quote:
                quote = ""
        elif letter in "\"'":
            quote = letter
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
            if not depth:
                return position
        position += 1
    raise ValueError(f"unbalanced brackets in {text!r}")


def _split(text: str) -> list[str]:
    """Return the parts between commas that stand in no bracket and no string."""
    parts, start, position = [], 0, 0
    while position < len(text):
        if text[position] in "([\"'":
            position = _closing(text, position) if text[position] in "([" else _end_of_string(text, position)
        elif text[position] == ",":
            parts.append(text[start:position].strip())
            start = position + 1
        position += 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _end_of_string(text: str, start: int) -> int:
    position = start + 1
    while text[position] != text[start]:
        position += 2 if text[position] == "\\" else 1
    return position


def _without_name(text: str) -> str:
    """Return the type of `Tensor(a -> *) self=None`, `(int, int) x`: up to the first space outside brackets."""
    position = 0
    while position < len(text) and text[position] != " ":
        position = _closing(text, position) + 1 if text[position] in "([" else position + 1
    return text[:position]
