"""Closures unrolled over arguments: what the text of a definition becomes, and what its errors show."""

from __future__ import annotations

import traceback

import pytest

from opwright_core.unrolling import Definition, unrolled

TEXT = """\
def f({*: x#, }{N: *more}):
    {T} x# = x#.array{W: s[#]}
    {N} check(more)
    return {T: x#, |a: [x#], }
"""


@pytest.mark.parametrize(
    ("letters", "flags", "expected"),
    [
        ("", "", "def f():\n    return \n"),
        ("Ta", "", "def f(x0, x1, ):\n    x0 = x0.array\n    return x0, [x1], \n"),
        ("bT", "N", "def f(x0, x1, *more):\n    x1 = x1.array\n    check(more)\n    return x1, \n"),
        (("aT", "T"), "W", "def f(x0, x1, ):\n    x0 = x0.arrays[0]\n    x1 = x1.arrays[1]\n    return x0, x1, \n"),
    ],
)
def test_groups_are_repeated_for_the_arguments_that_have_a_letter(letters: str, flags: str, expected: str) -> None:
    assert unrolled(TEXT, letters, flags) == expected


def quotient(first: float, second: float) -> float:
    return first / second


DIVIDE = Definition("def divide({*: x#, }):\n    return start, quotient({*: x#, })\n", globals())


def test_a_closure_is_of_the_module_and_has_free_variables() -> None:
    one, other = DIVIDE.make("ab", start=1), DIVIDE.make("ab", start=2)
    assert one(6, 3) == (1, 2.0)
    assert other(6, 3) == (2, 2.0)
    assert one.__module__ == __name__
    assert one.__code__ is other.__code__
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        one(6)


def test_a_traceback_shows_the_line_and_the_file_of_the_definition() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        DIVIDE.make("ab", start=1)(1, 0)
    frame = traceback.extract_tb(caught.value.__traceback__)[1]
    assert frame.line == "return start, quotient(x0, x1, )"
    assert frame.filename == f"{__file__} <divide a b>"
