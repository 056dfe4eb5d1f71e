"""Texts of strangers, made fit to be shown, and places as the reader of a format looks for them."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

__all__ = ["fit", "of_the_workspace", "one_line"]


def fit(text: str) -> str:
    """Return a text without characters that move a cursor, ring a bell or are halves of others; lines stay."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def one_line(text: str) -> str:
    """Return a text in one line, with one space where there was more."""
    return " ".join(fit(text).split())


def of_the_workspace(file: str) -> str:
    """Return a path as GitHub looks for it: from the folder of the workflow's clone, wherever the command runs."""
    file = one_line(file)
    root = os.environ.get("GITHUB_WORKSPACE", "")
    whole = Path(os.path.abspath(file)) if root else Path()
    if root and whole.is_relative_to(root):
        return whole.relative_to(root).as_posix()
    return PurePath(file).as_posix()
