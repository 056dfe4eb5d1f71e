"""Positions of a formula's characters in its file."""

from __future__ import annotations

from opwright_codegen.source import Span, Text

__all__ = ["place"]


def place(text: Text, start: int, end: int) -> Span:
    """Return where characters `start` up to `end` of `text` stand in its file."""
    written = text.span.text
    if len(written) == len(text.text):
        return text.span.sub(start, end)
    at = _offset(text.text, written, start)
    return text.span.sub(at, max(at, _offset(text.text, written, end - 1) + 1) if end > start else at)


def _offset(text: str, written: str, index: int) -> int:
    """Return where character `index` of `text` stands in `written`, which has quotes, escapes or folded lines."""
    at = 0
    if written[:1] in ("|", ">"):
        at = written.find("\n") + 1
    elif written[:1] in ("'", '"'):
        at = 1
    for char in text[:index]:
        if char.isspace():
            while at < len(written) and written[at].isspace():
                at += 1
            continue
        while at < len(written) and written[at].isspace():
            at += 1
        at += 2 if written[at : at + 2] == "''" and char == "'" else 1
        if written[at - 1 : at] == "\\" and char != "\\":
            at += 1
    while at < len(written) and written[at].isspace() and not text[index : index + 1].isspace():
        at += 1
    return min(at, len(written))
