"""Interrupts and forks at random moments: no lock stays held, and nothing is half registered (Note [Interrupts], Note
[Forks])."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest
import seeds
import sweeps

from opwright_core.locks import interrupts

HERE = Path(__file__).parent
OPERATORS = """
- func: interrupted_ops::hypotenuse(Tensor a, Tensor b) -> Tensor
  meta: pointwise(a, b, kind="int_to_float")
  dispatch:
    CPU, CUDA: xp.hypot(a, b)
  autogen: hypotenuse.out
"""
PLUGIN = """
from opwright.library import Library
def register():
    made = Library("plugged", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.impl("f", lambda x: x.clone(), "CPU")
    return made
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated package and a plug-in, as the programs of this module find them."""
    made = tmp_path_factory.mktemp("registering")
    (made / "ops.yaml").write_text(OPERATORS)
    command = [sys.executable, "-m", "opwright_codegen.cli", "generate", "ops.yaml", "-o", "interrupted_ops"]
    subprocess.run(command, cwd=made, check=True, capture_output=True)
    information = made / "plugged-1.5.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.5\n")
    (information / "entry_points.txt").write_text("[opwright.kernels]\nplugged = plugged:register\n")
    (made / "plugged.py").write_text(PLUGIN)
    return made


def _run(folder: Path, program: str, *arguments: object) -> str:
    command = [sys.executable, HERE / program, folder, *map(str, arguments)]
    environment = os.environ | {"OPWRIGHT_PLUGINS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(os.name == "nt", reason="no signals to a process of one's own there")
def test_interrupts_leave_nothing_held_and_nothing_half_registered(folder: Path) -> None:
    rounds = sweeps.count(36, 60)
    assert _run(folder, "interrupted.py", rounds, seeds.seed(1)).startswith(f"{rounds} interrupts")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks there")
def test_interrupted_first_calls_leave_no_module_locked_or_half_imported(tmp_path: Path) -> None:
    """Note [Interrupted imports]: another thread makes the same first calls afterwards."""
    command = [sys.executable, HERE / "interrupted_imports.py", str(sweeps.count(50, 2000)), str(seeds.seed(1))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_interrupt_in_a_module_of_the_program_comes_at_once(tmp_path: Path) -> None:
    """Such a module may never return. One of a generated package is executed to its end."""
    (tmp_path / "slow.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\nreached = True\n")
    program = f"""
import signal, sys
sys.path.insert(0, {str(tmp_path)!r})
from opwright_core.locks.imports import keep_whole
from opwright_core.names.late_imports import import_late
signal.signal(signal.SIGINT, signal.default_int_handler)
for is_whole in (False, True):
    try:
        import_late("slow")
    except KeyboardInterrupt:
        assert ("slow" in sys.modules) is is_whole
        assert not is_whole or sys.modules["slow"].reached
    else:
        raise AssertionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    keep_whole("slow")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks there")
def test_no_child_of_a_process_whose_threads_register_hangs(folder: Path) -> None:
    assert _run(folder, "forked.py", 15).startswith("15 forks")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks there")
def test_a_fork_waits_for_locks_in_whatever_order_others_take_them(tmp_path: Path) -> None:
    """A thread holds the second of two locks and wants the first, again and again: a fork that held the first and
    waited for the second would wait for ever."""
    assert _run(tmp_path, "forked_locks.py", 20) == "20 forks\n"


def _interrupted_at(step: int) -> int:
    """How many steps of bytecode holding signals and delivering them takes, with an interrupt after so many of them."""
    taken = 0

    def trace(frame: FrameType, event: str, argument: object) -> object:
        nonlocal taken
        if frame.f_code.co_filename != interrupts.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            taken += 1
            if taken == step:
                signal.raise_signal(signal.SIGALRM)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        interrupts.HeldSignals().deliver()
    finally:
        sys.settrace(before)
    return taken


def test_handlers_are_put_back_wherever_the_interrupt_comes() -> None:
    came = []

    def handler(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    numbers = [signal.SIGINT, signal.SIGALRM, signal.SIGTERM]
    before = [signal.signal(number, handler) for number in numbers]
    try:
        steps = _interrupted_at(-1)
        assert steps > 50 and not came
        for step in range(1, steps + 1):
            with pytest.raises(KeyboardInterrupt):
                _interrupted_at(step)
            assert [signal.getsignal(number) for number in numbers] == [handler] * 3, step
        assert came == [signal.SIGALRM] * steps
    finally:
        for number, earlier in zip(numbers, before, strict=True):
            signal.signal(number, earlier)
