"""Texts of others in Markdown: no tags, no cells of tables that they end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["cell", "code", "code_list", "first_sentence", "prose"]

_CODE: Final = re.compile(r"(`[^`\n]*`)")
_SENTENCE: Final = re.compile(r"^.*?[.:](?=\s|$)", re.DOTALL)


def prose(text: str) -> str:
    """Return a text in which `<` and `&` are what they are; code between backticks stays."""
    parts = _CODE.split(text)
    parts[::2] = [part.replace("&", "&amp;").replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts)


def code(texts: Iterable[str]) -> str:
    """Return texts as code, a space between them."""
    return " ".join(f"`{' '.join(text.split())}`" if "`" not in text else f"`` {text} ``" for text in texts if text)


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
