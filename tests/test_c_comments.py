"""The comments of C functions: every one, static ones too, says what it does and what it returns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

CORE = Path(__file__).parents[1] / "runtime" / "fast"
FILES = sorted(CORE.glob("*.[ch]"))
# A definition at the left margin: its type, its name and its parameters, up to the brace that ends a line.
FUNCTION = re.compile(
    r"^(?P<type>(?!typedef|struct|enum|union|return|else)[a-zA-Z_][\w ]*?\**)\b(?P<name>\w+)\([^;{}]*\) \{$", re.M
)
# What it returns: a value, one of two truths, or an error.
RETURNED = re.compile(r"\b[Rr]eturns?\b|^/\* Whether\b")


class Function(NamedTuple):
    where: str
    comment: str
    is_void: bool


def functions(path: Path) -> Iterator[Function]:
    """Yield the functions that a file defines, with the comments right above them."""
    text = path.read_text("utf-8")
    for match in FUNCTION.finditer(text):
        before = text[: match.start()]
        comment = before[before.rindex("/*") :] if before.endswith("*/\n") else ""
        where = f"{path.name}:{before.count(chr(10)) + 1} {match['name']}"
        is_void = match["type"].split()[-1] == "void"
        yield Function(where, " ".join(comment.replace("\n *", "").split()), is_void)


def test_functions_are_found() -> None:
    """Of every shape: static or not, of a pointer, a number or nothing, over several lines, in headers."""
    found = {function.where.split()[1]: function for path in FILES for function in functions(path)}
    assert found["is_node"].where.startswith("node.h:")
    assert found["track_all"].is_void
    assert not found["cell_at"].is_void  # a pointer
    assert {"hand_on", "configure", "PyInit__fast"} <= set(found)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_function_says_what_it_does(path: Path) -> None:
    assert [function.where for function in functions(path) if len(function.comment.split()) < 4] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_function_says_what_it_returns(path: Path) -> None:
    silent = [each.where for each in functions(path) if not each.is_void and not RETURNED.search(each.comment)]
    assert silent == []
