"""Results in guarded pages: whoever makes them, with the core's pool of arrays too, and C kernels of a schema file."""

from __future__ import annotations

import ctypes
import importlib
import mmap
import shutil
import signal
from functools import partial

import numpy as np
import pytest
from python_copies import run_python

import opwright
from opwright.library import Library
from opwright_gate.allocating import Overrun, guarded_results
from opwright_gate.cases import Array, Case
from opwright_gate.deaths import death, in_fork
from opwright_gate.memory import CAN_GUARD
from opwright_gate.properties.bounds import GuardedArguments, WholeResults
from opwright_gate.subjects import Subject, subjects_of

pytestmark = pytest.mark.skipif(not CAN_GUARD, reason="pages are guarded on Linux alone")

SCHEMA = """
- func: pages::{0}(Tensor x) -> Tensor
  meta: like(x)
  dispatch: {{CPU: "native:{0}"}}
  convention: elementwise
  dtypes: float64
"""
KERNEL = """
int {0}_f64(int64_t n, const double *x, double *out)
{{
    {1}
    return 0;
}}
"""
LOOP = "for (int64_t i = 0; i < n{}; i++) out[i] = 2 * x[i];"
KERNELS = {
    "behind": LOOP.format("") + " out[n] = 0;",
    "before": "out[-1] = 0;" + LOOP.format(""),
    "reads": LOOP.format("") + " volatile double last = out[n]; (void)last;",
    "leaves": LOOP.format(" - (n < 100)"),  # a result that is small is taken from the core's pool
    "right": LOOP.format(""),
}


def is_flush(array: np.ndarray, *, at_end: bool) -> bool:
    end = array.ctypes.data + array.nbytes
    return -(-end // 16 * 16 if at_end else -array.ctypes.data) % mmap.PAGESIZE == 0


@pytest.mark.parametrize("at_end", [True, False])
def test_results_are_flush_whoever_makes_them(at_end: bool) -> None:
    def kernel(x: opwright.Tensor) -> opwright.Tensor:
        return opwright.from_numpy(np.flip(x.numpy()).copy())

    lib = Library("flush", "DEF")
    lib.define("flip(Tensor x) -> Tensor")
    lib.impl("flip", kernel, "CompositeExplicitAutograd")
    x = opwright.arange(7.0)
    calls = [
        lambda: x + x,
        lambda: x.softmax(0),
        lambda: opwright.sin(x),
        lambda: x.sum(),
        lambda: opwright.cat([x, x]),
        lambda: opwright.ops.flush.flip(x),
        lambda: opwright.conv1d(x.reshape(1, 1, 7), x[:3].reshape(1, 1, 3)),
    ]
    for call in calls:
        call()  # is freed, and may be pooled
        with guarded_results(at_end=at_end):
            result = call()
            call()
        array = result.numpy()
        array = array if array.base is None else array.base
        assert is_flush(array, at_end=at_end)
        del result, array
    lib._destroy()


def test_a_write_behind_the_end_is_told_and_errors_arrive() -> None:
    with pytest.raises(Overrun, match="behind the end of an array of 56 bytes"), guarded_results(at_end=True):
        ctypes.memset(np.arange(7.0).ctypes.data + 56, 1, 1)
    with guarded_results(at_end=True):
        with pytest.raises(ValueError, match="this one"):
            raises(np.ones(3))
        grown = np.ones(3)
        grown.resize(5000, refcheck=False)
    assert grown.sum() == 3


def raises(array: np.ndarray) -> None:
    local = array * 2
    raise ValueError(f"this one, while {len(local)} numbers are freed")


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Subject]:
    """The operators of a schema file with kernels in C, by name."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("pages")
    (folder / "ops.yaml").write_text("".join(map(SCHEMA.format, KERNELS)))
    kernels = "".join(KERNEL.format(*each) for each in KERNELS.items())
    (folder / "k.c").write_text(f'#include "pages_kernels.h"\n{kernels}')
    settings = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "pages_ops"\nnative = ["k.c"]\n'
    (folder / "pyproject.toml").write_text(settings)
    built = run_python("-m", "opwright_codegen.cli", "build", cwd=folder)
    assert built.returncode == 0, built.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        importlib.import_module("pages_ops")
    return {each.name.removeprefix("pages::"): each for each in subjects_of("pages")}


@pytest.mark.once  # without the core NumPy makes all arrays
def test_kernels_in_c_of_a_schema_file(subjects: dict[str, Subject]) -> None:
    for size in (6, 7):
        case = Case((Array(np.arange(float(size))),))
        found = {}
        for name, subject in subjects.items():
            statuses = [in_fork(partial(subject.run, case.flush(f"flush to the {side}"))) for side in ("end", "start")]
            found[name] = [bool(status) for status in statuses]
        assert found == {
            "behind": [size % 2 == 0, False],  # (an odd size leaves eight bytes, whose change is told instead)
            "before": [False, True],
            "reads": [size % 2 == 0, False],
            "leaves": [False, False],
            "right": [False, False],
        }
        error = subjects["behind"].refusal(case.flush("flush to the end")) if size % 2 else None
        assert isinstance(error, Overrun) == bool(size % 2)
        whole = {name: WholeResults().problem(subjects[name], case) for name in ("leaves", "right")}
        assert [name for name, problem in whole.items() if problem] == ["leaves"]


@pytest.mark.once
def test_a_signal_is_named_by_where_it_came_from(subjects: dict[str, Subject]) -> None:
    property, case = GuardedArguments(), Case((Array(np.arange(6.0)),))
    for name, layout, cause in (("behind", "end", "result-past-end"), ("before", "start", "result-before-start")):
        for call, status in ((case.flush(f"flush to the {layout}"), signal.SIGSEGV), (case, signal.SIGABRT)):
            verdict = death(subjects[name], property, call, status, hangs=False)
            assert (verdict.cause, "result" in verdict.why) == (cause, True)
            assert f"with guarded_results(at_end={layout == 'end'}): result = " in verdict.program
