"""Floating point does what it does in silence, and NumPy still warns of everyone else's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

USER_KERNELS = """
import numpy as np

def invert(array):
    return 1 / array
"""

PROGRAM = """
import numpy as np
import opwright
from opwright.library import Library, register_array_kernel
import user_kernels

library = Library("user", "DEF")
library.define("invert(Tensor x) -> Tensor")
register_array_kernel("user::invert", "CPU", user_kernels.invert)
zero = opwright.tensor([0.0, -1.0])
huge = opwright.tensor([3e38])
results = opwright.log(zero), zero / 0, huge * 10, opwright.div(zero.numpy(), 0), -zero.sqrt_(), opwright.exp(huge)
for result in results:
    assert not np.isfinite(result).all()
brain, pair = huge.bfloat16(), huge.cfloat()
for _ in range(3):  # planned by Python, then by the core, whose call of NumPy has no frame of ours
    for written in (huge.clone().mul_(2**60), brain.clone().mul_(1.5), brain.clone().div_(1e-30), pair.clone().div_(0)):
        assert not written.isfinite().any()
print("silent", flush=True)
opwright.ops.user.invert(opwright.tensor([0.0]))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "user_kernels.py").write_text(USER_KERNELS, encoding="utf-8")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_only_kernels_of_users_warn(program: Path) -> None:
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "silent\n"
    assert done.stderr.count("RuntimeWarning") == 1
    assert "user_kernels.py:5: RuntimeWarning: divide by zero" in done.stderr


def test_where_warnings_are_errors_too(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", program], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "silent\n"
    assert done.stderr.rstrip().endswith("RuntimeWarning: divide by zero encountered in divide")
    assert done.returncode == 1
