"""Temporary memory: a call takes no more than PyTorch's, and one result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

SLACK = 1_000_000  # bytes, of blocks that are computed at once


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of a process is read from Linux")
def test_no_call_needs_more_than_pytorch_and_one_result() -> None:
    low = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    program = Path(__file__).with_name("memory_peaks.py")
    run = subprocess.run(
        [sys.executable, program], env={**os.environ, **low}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    more = {name for name, ours, theirs, size in found if ours > theirs + size + SLACK}
    assert len(found) > 50 and not more, [each for each in found if each[0] in more]
