"""Operators whose kernels are Triton's: by its interpreter where it is installed, and by a stand-in; and without it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

HERE = Path(__file__).parent
STAND_IN = HERE.parents[1] / "triton_stand_in"
IS_THERE = importlib.util.find_spec("triton") is not None
OPS = """
- func: triton_demo::axpy(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor
  meta: pointwise(x, y, accepts="floating")
  dispatch: {CUDA: triton:triton_kernels.axpy}
  convention: elementwise
  dtypes: float32, float64
  launch: {elements: 64, constants: {BLOCK: elements}}

- func: triton_demo::row_sums(Tensor x) -> Tensor
  meta: reduce(x, 1)
  dispatch: {CUDA: triton:triton_kernels.row_sums}
  convention: strided
  dtypes: float32, float64
  launch: {grid: rows, ndim: 2, constants: {BLOCK: row}}

- func: triton_demo::add_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  dispatch: {CUDA: triton:triton_kernels.add_}
  convention: elementwise
  dtypes: float32, float64
  launch: {elements: 4, constants: {BLOCK: 4}}

- func: triton_demo::plain(Tensor x) -> Tensor
  meta: like(x)
  dispatch: {CUDA: triton:triton_kernels.plain}
  convention: elementwise
  dtypes: float32, float64
"""
DERIVATIVES = """
- name: triton_demo::axpy(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor
  x: grad * alpha
  y: grad
  result: x_t * alpha + y_t
"""
KERNELS = """
import triton
import triton.language as tl


@triton.jit
def axpy(x, y, alpha, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    is_in = at < n
    tl.store(out + at, alpha * tl.load(x + at, mask=is_in) + tl.load(y + at, mask=is_in), mask=is_in)


@triton.jit
def row_sums(x, x_shape1, x_stride0, x_stride1, out, BLOCK: tl.constexpr):
    row = tl.program_id(axis=0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * x_stride0 + at * x_stride1, mask=at < x_shape1, other=0.0)
    one = tl.arange(0, 1)
    tl.store(out + row + one, tl.sum(values, axis=0) + one * 0.0, mask=one < 1)


@triton.jit
def add_(self, other, n, BLOCK: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(self + at, tl.load(self + at, mask=at < n) + tl.load(other + at, mask=at < n), mask=at < n)


def plain(x, out):
    pass
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("triton")
    settings = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "triton_demo"\nderivatives = "derivatives.yaml"\n'
    files = {"ops.yaml": OPS, "derivatives.yaml": DERIVATIVES, "triton_kernels.py": KERNELS, "pyproject.toml": settings}
    for name, text in files.items():
        (folder / name).write_text(text)
    done = subprocess.run([sys.executable, "-m", "opwright_codegen.cli", "generate"], cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, *path: Path) -> str:
    """What the program says; nothing where all is as it should be."""
    paths = os.pathsep.join([*map(str, (folder, HERE.parents[1], *path)), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": paths}
    command = [sys.executable, str(HERE / "triton_program.py")]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stderr


def test_by_the_stand_in(project: Path) -> None:
    assert run(project, STAND_IN) == ""


@pytest.mark.skipif(not IS_THERE, reason="Triton is not installed: pip install --group triton")
def test_by_triton(project: Path) -> None:
    assert run(project) == ""


@pytest.mark.skipif(IS_THERE, reason="Triton is installed")
def test_without_triton(project: Path) -> None:
    said = run(project)
    assert "triton_demo::axpy has a kernel for Triton: triton is not installed: `pip install triton`" in said
