"""The pool of threads and forks, signals, other threads (docs/threads.md); what environment variables say of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opwright
import opwright_core
from opwright_core.core import fast
from opwright_kernels.linalg import lapack

IS_THERE = pytest.mark.skipif(fast is None or not hasattr(os, "fork"), reason="there is no pool, or no fork")


def run(*command: str, **environment: str) -> str:
    variables = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, *command], env=variables | environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@IS_THERE
def test_forks_signals_and_threads_leave_the_pool_whole() -> None:
    program = str(Path(__file__).with_name("pooled.py"))
    assert run(program, "12", OPENBLAS_NUM_THREADS="1") == "12 forks and interrupts"


@IS_THERE
@pytest.mark.once
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("gcc") is None, reason="it needs gcc's ThreadSanitizer")
def test_threads_loops_within_loops_and_forks_do_not_race(tmp_path: Path) -> None:
    source, program = Path(__file__).with_name("pool_races.c"), tmp_path / "pool_races"
    core = Path(opwright_core.__file__).parent
    options = ("-g", "-O1", "-fsanitize=thread", f"-I{core}", "-o", str(program), str(source), "-lm", "-lpthread")
    if subprocess.run(["gcc", *options], capture_output=True).returncode != 0:
        pytest.skip("gcc has no ThreadSanitizer here")
    # A child of a fork goes on under the sanitizer, and cannot join threads that ended before; addresses are not drawn,
    # which some kernels need for the sanitizer to start.
    command = [*(["setarch", "-R"] if shutil.which("setarch") else []), str(program), "5", "10"]
    variables = os.environ | {"TSAN_OPTIONS": "die_after_fork=0 halt_on_error=1 report_thread_leaks=0"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


@IS_THERE
def test_the_environment_says_how_many_threads_there_are() -> None:
    code = "import opwright; print(opwright.get_num_threads())"
    assert run("-c", code, OPWRIGHT_NUM_THREADS="5", OMP_NUM_THREADS="3") == "5"
    assert run("-c", code, OMP_NUM_THREADS="3,2") == "3"
    assert run("-c", code, OPWRIGHT_NUM_THREADS="0", OMP_NUM_THREADS="no") == run("-c", code) != "0"


def test_a_number_of_threads_is_a_positive_int() -> None:
    before = opwright.get_num_threads()
    for wrong in (0, -1):
        with pytest.raises(RuntimeError, match="expects a positive integer"):
            opwright.set_num_threads(wrong)
    for other in (1.0, "2", True, None):
        with pytest.raises(TypeError, match="expects an int, but got"):
            opwright.set_num_threads(other)  # type: ignore[arg-type]
    try:
        opwright.set_num_threads(2**40)
        assert opwright.get_num_threads() == (1 if fast is None else 2**31 - 1)
        opwright.set_num_threads(7)
        assert opwright.get_num_threads() == opwright.threads.get_num_threads() == (1 if fast is None else 7)
    finally:
        opwright.set_num_threads(before)


@IS_THERE
def test_threadpoolctl_sees_and_limits_the_pool() -> None:
    pytest.importorskip("threadpoolctl")
    told = """
import {first}, {second}
from threadpoolctl import threadpool_info, threadpool_limits
import opwright.threads
opwright.threads.register_with_threadpoolctl()
print([each["num_threads"] for each in threadpool_info() if each["user_api"] == "opwright"], end=" ")
with threadpool_limits(1):
    print(opwright.get_num_threads(), end=" ")
with threadpool_limits({{"opwright": 2}}):
    print(opwright.get_num_threads(), end=" ")
print(opwright.get_num_threads())
"""
    for first, second in (("threadpoolctl", "opwright"), ("opwright", "threadpoolctl")):
        assert run("-c", told.format(first=first, second=second), OPWRIGHT_NUM_THREADS="4") == "[4] 1 2 4"


@pytest.mark.once
def test_small_matrices_are_computed_on_one_thread() -> None:
    counts = lapack._thread_counts()
    if counts is None:
        pytest.skip("NumPy's library has no number of threads")
    read, write = counts
    before, seen = read(), []

    def note(matrices: object, *, fails: bool = False) -> None:
        seen.append(read())
        if fails:
            raise np.linalg.LinAlgError

    try:
        write(2)
        lapack.by_few_threads(note, np.zeros((100, 100)))
        lapack.by_few_threads(note, np.zeros((300, 300)))
        lapack.by_few_threads(note, np.zeros((4, 4)))
        with pytest.raises(np.linalg.LinAlgError):
            lapack.by_few_threads(note, np.zeros((100, 100)), fails=True)
        opwright.linalg.svdvals(opwright.ones(100, 100))
        assert read() == 2
    finally:
        write(before)
    assert seen == [1, 2, 2, 1]
