"""Every transform of JAX on operators of ours that are registered under another namespace."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is not installed: the group of dependencies `jax`")
PROGRAM = Path(__file__).parent / "renamed_jax.py"
MOST = 20


def _checked(folder: Path, *most: str) -> tuple[int, int, int, str]:
    command = [sys.executable, str(PROGRAM), str(folder), *most]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = re.search(r"(\d+) of (\d+) passed, (\d+) of them", done.stdout)
    assert found is not None, done.stdout
    return int(found[1]), int(found[2]), int(found[3]), done.stdout


def test_transforms_of_some(tmp_path: Path) -> None:
    passed, count, differentiated, printed = _checked(tmp_path, str(MOST))
    assert count >= MOST and passed == count and differentiated >= MOST // 2, printed


@pytest.mark.slow
def test_transforms_of_all(tmp_path: Path) -> None:
    passed, count, differentiated, printed = _checked(tmp_path)
    assert count >= 350 and passed == count and differentiated >= 250, printed
