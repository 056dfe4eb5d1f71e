"""PyTorch's own opcheck on operators of ours that are registered under another namespace."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle
PROGRAM = Path(__file__).parent / "renamed.py"
MOST, SHARE = 75, 0.99


def _checked(folder: Path, *most: str) -> tuple[int, int, str]:
    command = [sys.executable, str(PROGRAM), str(folder), *most]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = re.search(r"(\d+) of (\d+) passed", done.stdout)
    assert found is not None, done.stdout
    return int(found[1]), int(found[2]), done.stdout


def test_opcheck_passes_on_some(tmp_path: Path) -> None:
    passed, count, printed = _checked(tmp_path, str(MOST))
    assert count >= MOST and passed >= count - 1, printed


@pytest.mark.slow
def test_opcheck_passes_on_all(tmp_path: Path) -> None:
    passed, count, printed = _checked(tmp_path)
    assert count >= 300 and passed >= SHARE * count, printed
    assert "KNOWN NOT TO" not in printed, printed


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("options", [(), pytest.param(("--inductor",), marks=pytest.mark.slow)])
def test_operators_of_all_examples(tmp_path: Path, options: tuple[str, ...]) -> None:
    """opcheck, compiled programs, exported ones with dynamic sizes, vmap, tangents, and DTensors, of every operator."""
    command = [sys.executable, str(PROGRAM.parent / "examples_in_torch.py"), str(tmp_path), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "FAILED" not in done.stdout and "NOT CHECKED" not in done.stdout, done.stdout
    count = re.search(r"(\d+) of (\d+) passed", done.stdout)
    assert count is not None and count[1] == count[2] and int(count[1]) >= 40, done.stdout
    assert done.stdout.count("tangents of ") >= 10, done.stdout
    cut = re.search(r"(\d+) of (\d+) cut", done.stdout)
    assert cut is not None and int(cut[1]) >= 35, done.stdout
