"""Texts of strangers, made fit to be shown: names, reasons and programs hold whatever their author wrote."""

from __future__ import annotations

from typing import Final

__all__ = ["cut", "one_line", "printable"]

_UNKNOWN: Final = "\ufffd"
_LAID_OUT: Final = "\n\t"


def printable(text: str) -> str:
    """Return a text without characters that move a cursor, ring a bell or are halves of others; lines stay."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return "".join(char if char.isprintable() or char in _LAID_OUT else _UNKNOWN for char in text)


def one_line(text: str) -> str:
    """Return a text in one line, with one space where there was more."""
    return " ".join(printable(text).split())


def cut(text: str, width: int) -> str:
    """Return a text that is no longer than `width`: its end is left out."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"
