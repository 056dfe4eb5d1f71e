"""Floating-point exceptions are no warnings of ours, and remain NumPy's for everyone else."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import numpy as np
import opwright
zero = opwright.tensor([0.0, -1.0])
opwright.log(zero), opwright.reciprocal(zero), opwright.sqrt(zero), opwright.exp(zero * -1e4)
opwright.tensor([1e30]).to(opwright.int8)
opwright.log(np.array([0.0, -1.0]))
print("quiet", file=sys.stderr)
np.log(np.array([0.0]))
"""


def test_kernels_do_not_warn_and_numpy_still_does() -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\n{PROGRAM}"], capture_output=True, text=True, check=True, timeout=60
    )
    ours, _, theirs = run.stderr.partition("quiet")
    assert ours == ""
    assert "divide by zero" in theirs
