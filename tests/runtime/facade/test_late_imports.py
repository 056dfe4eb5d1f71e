"""Operators that are first used while Python shuts down: an error that says what to do, or the work done before."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import weakref
import opwright

class Last:
    def __init__(self):
        self.x = opwright.ones(3)
        self.known, self.later = opwright.sin, opwright.cumsum
        self.known(self.x)
        weakref.finalize(self, print, "finalized")

    def __del__(self, opwright=opwright):
        print(self.known(self.x)[:0].tolist())
        try:
            {}
        except ImportError as error:
            print(error)

last = Last()
last.x[:0].tolist()
"""


@pytest.mark.parametrize(
    ("use", "what"),
    [
        ("opwright.cummax(self.x, 0)", "opwright_aten"),
        ("self.x.softmax(0)", "opwright_aten"),
        ("opwright.linalg", "opwright.linalg"),
        ("self.later(self.x, 0)", "aten::cumsum"),
    ],
)
def test_an_operator_that_is_first_used_at_the_end(use: str, what: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(use)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    finalized, known, error = done.stdout.splitlines()
    assert (finalized, known) == ("finalized", "[]")
    assert error.startswith(what)
    assert "is needed for the first time while Python shuts down" in error
    assert "weakref.finalize" in error
