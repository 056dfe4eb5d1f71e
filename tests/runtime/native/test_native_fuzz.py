"""The fuzzers of C (`fuzzed_shims.py`, `fuzzed_loops.py`), with few calls, in four threads.

Without gcc and its sanitizers these tests are skipped; continuous integration has them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import seeds
import sweeps

CALLS = sweeps.count(800, 8000)


def has_sanitizers() -> bool:
    command = ["cc", "-print-file-name=libasan.so"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return False
    return Path(said).is_absolute()


@pytest.mark.once  # it is the C of projects that is called
@pytest.mark.skipif(not has_sanitizers(), reason="there is no gcc, or no sanitizer")
@pytest.mark.parametrize(("fuzzer", "kernels"), [("fuzzed_shims.py", 14), ("fuzzed_loops.py", 15)])
def test_no_call_reaches_beyond_its_arrays(fuzzer: str, kernels: int) -> None:
    """All kernels are reached; a report of a sanitizer ends the program."""
    program = Path(__file__).with_name(fuzzer)
    done = subprocess.run(
        [sys.executable, program, str(CALLS), str(seeds.seed(1)), "4"],
        cwd=program.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{CALLS} calls of {kernels} kernels" in done.stdout
