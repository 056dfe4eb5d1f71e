"""C sources: comments of functions (also of static ones) say what they do and return; lines fit 120 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.once  # it reads sources
RUNTIME = Path(__file__).parents[1] / "runtime"
NAMED_BY_OPERATION = "elements.h"  # `add_f32` is one line, below the comment of its dtypes
# A definition at the left margin: its type, its name (or OF(name), for each type) and its parameters, up to the brace
# that ends a line or begins a body of one line.
FUNCTION = re.compile(
    r"^(?P<type>(?!typedef|struct|enum|union|return|else)[a-zA-Z_][\w ]*?\**)\b(?:OF\()?(?P<name>\w+)\)?"
    r"\([^;{}]*\) \{(?:$| .*\}$)",
    re.M,
)
MACRO = re.compile(r"^#define (?P<name>\w+)\(.*\\\n(?P<body>(?:.*\\\n)*.*\n)", re.M)
# The first line of a function that a macro defines.
DEFINED = re.compile(
    r"^ *(?P<type>(?:CLONES |ELEMENT |static )[\w ]*?\**)\b(?:OF\(NAME\)|(?:\w+##)?(?:NAME|END)(?:##\w+)?)\(.*\{ *\\$",
    re.M,
)
# What it returns: a value, one of two truths, or an error.
RETURNED = re.compile(r"\b[Rr]eturns?\b|^/\* Whether\b")


class Function(NamedTuple):
    where: str
    comment: str
    is_void: bool


def described(path: Path, text: str, match: re.Match[str], result_type: str) -> Function:
    """Return a function with the comment right above the start of a match."""
    before = text[: match.start()]
    comment = before[before.rindex("/*") :] if before.endswith("*/\n") else ""
    where = f"{path.relative_to(RUNTIME).as_posix()}:{before.count(chr(10)) + 1} {match['name']}"
    return Function(where, " ".join(comment.replace("\n *", "").split()), result_type.split()[-1] == "void")


def functions(path: Path) -> Iterator[Function]:
    """Yield the functions that a file defines, itself and by macros, with the comments right above them."""
    text = path.read_text("utf-8")
    for match in FUNCTION.finditer(text):
        yield described(path, text, match, match["type"])
    for match in MACRO.finditer(text):
        if defined := DEFINED.search(match["body"]):
            yield described(path, text, match, defined["type"])


@cache
def every() -> list[Function]:
    paths = [path for path in sorted(RUNTIME.rglob("*.[ch]")) if path.name != NAMED_BY_OPERATION]
    return [function for path in paths for function in functions(path)]


def test_functions_are_found() -> None:
    """Of every shape: static or not, of a pointer, a number or nothing, over several lines, in headers, by macros."""
    found = {function.where.split()[1]: function for function in every()}
    assert found["is_node"].where.startswith("opwright_core/fast/graph/node.h:")
    assert found["track_all"].is_void
    assert not found["cell_at"].is_void  # a pointer
    assert {"hand_on", "configure", "PyInit__fast", "PyInit__native"} <= set(found)
    assert found["own_lgamma_f32"].where.startswith("opwright_kernels/native/gamma.h:")  # in one line
    assert not found["sum_row"].is_void  # for each type
    assert found["LOOP1"].is_void
    assert {
        "UNARY",
        "GATHER_LOOP",
        "SCATTER_LOOP",
        "SCAN",
        "POSITIONS",
        "BESIDE",
        "EXTREME",
        "PLUS_PRODUCT",
        "HAS_NONFINITE",
    } <= set(found)


def test_every_function_says_what_it_does() -> None:
    assert [each.where for each in every() if len(each.comment.split()) < 4] == []


def test_every_function_says_what_it_returns() -> None:
    assert [each.where for each in every() if not each.is_void and not RETURNED.search(each.comment)] == []


def test_no_line_is_longer_than_120_columns() -> None:
    long = [
        f"{path.relative_to(RUNTIME).as_posix()}:{number}"
        for path in sorted(RUNTIME.glob("opwright_*/**/*.[ch]"))  # (the build writes other headers)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert long == []
