"""Programs of findings end in an assertion, or a call, that fails; the same lines hold for a sound operator."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sweeps import share
from test_planted import PLANTED, judge

from opwright_gate.cases import Array, Case
from opwright_gate.programs import program
from opwright_gate.properties import fakes, gradient_programs
from opwright_gate.subjects import subjects_of

pytestmark = pytest.mark.once  # each process chooses its core

FAULTS = (
    *("faults::absolute_strides", "faults::by_bytes", "faults::from_base", "faults::keeps_last", "faults::row_major"),
    *("faults::data_in_fake", "faults::needs_alignment", "faults::without_fake", "faults::to_int", "values::product"),
    *("values::pair", "values::square", "values::square_once", "values::square_unsaved", "values::twice_expanded"),
    *("values::twice_flat", "values::twice_of_some", "values::twice_wide", "values::writes_its_gradient"),
)
# Runs each program in a process of its own, of which one has imported what all import.
FORKING = """
import json, os, sys, tempfile, traceback
import numpy, opwright, opwright_aten

found = []
for program in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile("w+") as said:
        if (child := os.fork()) == 0:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            status = 0
            try:
                exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
            except BaseException:
                traceback.print_exc()
                status = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        found.append((status, said.read()))
print(json.dumps(found))
"""
LAYOUTS = ("transposed", "sliced", "backwards", "expanded")


def test_programs_fail() -> None:
    report = judge(share(FAULTS, 4, "programs"), ["gradients", "fakes", "layouts"])
    assert report.findings
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(PLANTED), *sys.path])}
    programs = [each.program for each in report.findings]
    command = [sys.executable, "-c", FORKING, json.dumps(programs)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    for text, (status, said) in zip(programs, json.loads(done.stdout), strict=True):
        assert status == 1, text
        assert "Traceback" in said and "NameError" not in said, said
        assert len(text.splitlines()) <= 10


@pytest.mark.parametrize(
    "lines",
    [
        *(gradient_programs.first_order, gradient_programs.second_order, gradient_programs.tangents),
        *(gradient_programs.connected, gradient_programs.shapes, gradient_programs.written),
        *(gradient_programs.casts, gradient_programs.alone(0), *map(gradient_programs.laid, LAYOUTS)),
    ],
)
def test_lines_hold_for_what_is_sound(lines: tuple[str, ...]) -> None:
    case = Case((Array(np.array([[0.5, 1.0], [1.5, 2.0]])), Array(np.array([3.0, 5.0]))))
    exec(program(next(subjects_of("aten::mul.Tensor")), case, lines), {})


def test_lines_about_saved_tensors_raise_what_a_sound_operator_raises() -> None:
    case = Case((Array(np.array([[0.5, 1.0], [1.5, 2.0]])), Array(np.array([3.0, 5.0]))))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        exec(program(next(subjects_of("aten::mul.Tensor")), case, gradient_programs.mutated), {})


@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize(("name", "rest"), [("aten::exp", ()), ("aten::sort", (-1, False))])
def test_lines_about_fakes_hold_for_what_is_sound(name: str, rest: tuple[object, ...], is_symbolic: bool) -> None:
    subject = next(subjects_of(name))
    case = Case((Array(np.array([[0.5, 1.0], [1.5, 2.0]]), "transposed"), *rest))
    exec(program(subject, case, fakes.lines_of(subject, is_symbolic=is_symbolic)), {})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lines_about_layouts_hold_for_what_is_sound(layout: str) -> None:
    case = Case((Array(np.array([[0.5, 1.0], [1.5, 2.0]]), layout), Array(np.array([3.0, 5.0]), layout)))
    check = ("from {origin}.testing import assert_close", "assert_close(result, plain, equal_nan=True)")
    exec(program(next(subjects_of("aten::mul.Tensor")), case, check, ("copies = {copies}", "plain = {plain}")), {})
