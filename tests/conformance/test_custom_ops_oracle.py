"""Custom operators beside PyTorch's: the same programs by both libraries, in one process."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import custom_op_gradient_programs
import custom_op_writing_programs
import pytest
from custom_op_programs import PROGRAMS, Side, shown

import opwright
import opwright.library

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = [pytest.mark.oracle, pytest.mark.usefixtures("operators_are_dropped")]
_numbers = itertools.count()
ADDED = (custom_op_gradient_programs, custom_op_writing_programs)  # to PROGRAMS, when they were imported


def run(program: Callable[[Side], Any], lib: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shown(program(Side(lib, f"program{next(_numbers)}")))


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    ours, theirs = run(PROGRAMS[name], opwright), run(PROGRAMS[name], torch)
    assert ours == theirs
