"""Texts of others in Markdown: no tags, no cells of tables that they end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["cell", "code", "code_list", "first_sentence", "prose"]

_PARTS: Final = re.compile(r"\\[`<&]|\\\\|(?P<ticks>`+)(?!`)[^\n\r]+?(?<!`)(?P=ticks)(?!`)|`+|[<&]")
_ENTITIES: Final = {ord("`"): "&#96;", ord("<"): "&lt;", ord("&"): "&amp;", ord("|"): "&#124;"}
_SENTENCE: Final = re.compile(r"^.*?[.:](?=\s|$)", re.DOTALL)


def prose(text: str) -> str:
    """Return a text that holds no HTML. Code between backticks of one line stays; other backticks, `<` and `&` are
    written as entities, so that every reader of Markdown finds the same code."""
    return _PARTS.sub(_harmless, text)


def _harmless(part: re.Match[str]) -> str:
    text = part[0]
    if text == r"\\" or (part["ticks"] and not ("|" in text and ("<" in text or "&" in text))):
        return text  # (a table ends code at `|`)
    return text.removeprefix("\\").translate(_ENTITIES)


def code(texts: Iterable[str]) -> str:
    """Return texts as code, a space between them."""
    return " ".join(_code(" ".join(text.split())) for text in texts if text)


def _code(text: str) -> str:
    runs = [len(run) for run in re.findall("`+", text)]
    ticks = "`" * (max(runs, default=0) + 1)
    return f"{ticks} {text} {ticks}" if runs else f"`{text}`"


def code_list(names: Iterable[str]) -> str:
    """Return names as code, each once, a comma between them."""
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


def cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, without what ends it."""
    found = _SENTENCE.match(text)
    return (found[0] if found else text).rstrip(".:").strip()
