"""Operators of Triton's kernels: by its interpreter where it is installed, and by a stand-in."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.library import triton_op, wrap_triton

HERE = Path(__file__).parent
STAND_IN = HERE.parents[1] / "triton_stand_in"
IS_THERE = importlib.util.find_spec("triton") is not None


def run(*path: Path) -> str:
    """What the program says; nothing where all is as it should be."""
    paths = os.pathsep.join([*map(str, path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": paths}
    command = [sys.executable, str(HERE / "triton_kernels_program.py")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stderr


def test_by_the_stand_in() -> None:
    assert run(STAND_IN) == ""


@pytest.mark.skipif(not IS_THERE, reason="Triton is not installed: pip install --group triton")
def test_by_triton() -> None:
    assert run() == ""


@pytest.mark.skipif(IS_THERE, reason="Triton is installed")
def test_without_triton() -> None:
    with pytest.raises(ImportError, match=r"kernels of Triton, which cannot be imported .* `pip install triton`"):
        triton_op("tests_triton::f", mutates_args=())
    with pytest.raises(ImportError, match="kernels of Triton, which cannot be imported"):
        wrap_triton(run)
