"""Decompositions of matrices with infinities and NaN: each ends, in a process of its own, since LAPACK's search for
singular vectors of an infinite matrix has no end and hears no signal."""

from __future__ import annotations

import subprocess
import sys

import pytest
import seeds

import opwright

FUNCTIONS = (
    "linalg.svd", "linalg.svdvals", "linalg.pinv", "linalg.matrix_rank", "linalg.cond", "linalg.eig", "linalg.eigvals",
    "linalg.eigh", "linalg.eigvalsh", "linalg.qr", "linalg.inv", "linalg.det", "linalg.slogdet", "linalg.cholesky",
    "linalg.lu_factor", "linalg.matrix_norm", "svd", "pinverse", "nuclear_norm",
)  # fmt: skip
PROGRAM = """
import operator, sys
import numpy as np
import opwright
rng = np.random.default_rng(int(sys.argv[1]))
for name in sys.argv[2:]:
    function = operator.attrgetter(name)(opwright)
    for size in (2, 3, 9):
        for value in (np.inf, -np.inf, np.nan):
            for dtype in (np.float32, np.complex128):
                matrix = rng.standard_normal((size, size)).astype(dtype)
                matrix[rng.integers(size), rng.integers(size)] = value
                matrix[0, 0] = value
                try:
                    function(opwright.tensor(matrix))
                except RuntimeError:  # LinAlgError is one
                    pass
print("done")
"""


def test_each_ends() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(seeds.seed(0)), *FUNCTIONS],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "done" in ran.stdout.splitlines(), ran.stderr  # (LAPACK prints there, too)


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan")])
def test_singular_vectors_are_refused(value: float) -> None:
    matrices = opwright.eye(3).repeat(2, 1, 1)
    matrices[1, 0, 0] = value
    with pytest.raises(opwright.linalg.LinAlgError, match="contained non-finite values"):
        opwright.linalg.svd(matrices)
