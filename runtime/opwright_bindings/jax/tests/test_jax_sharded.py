"""JAX's arrays on several devices: calls are cut as the dimension rule says, with Explicit and with Auto axes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from copying import copy_example

from opwright_codegen.cli import main

pytest.importorskip("jax", reason="JAX is not installed: the group of dependencies `jax`")
pytestmark = [pytest.mark.once, pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")]
KINDS = {"parallel", "sum", "max", "min", "again", "window"}
SCHEMAS = """
- func: in_parts::softclip(Tensor self, Tensor limit) -> Tensor
  kernel: limit * tanh(self / limit)
  dtypes: float32

- func: in_parts::mix(Tensor a, Tensor b) -> Tensor
  meta: gufunc("(m,k),(k,n)->(m,n)", a, b)
  dims: m k, k n -> m n; k sum
  dispatch: {CPU: native:mix}
  convention: contiguous
  dtypes: float32

- func: in_parts::slope(Tensor self) -> Tensor
  meta: scan(self, -1, accepts="floating")
  dims: windows(self, dim=-1, before=1, after=2); batched by leading((self, 1))
  dispatch: {CPU: native:slope}
  convention: contiguous
  dtypes: float32

- func: in_parts::peak(Tensor self, int dim) -> Tensor
  meta: reduce(self, dim, accepts="floating", nonempty=True, combines="max")
  dispatch: {CPU: xp.abs(self).max(dim)}

- func: in_parts::length(Tensor self, int dim) -> Tensor
  meta: reduce(self, dim, accepts="floating", combines=True)
  dispatch: {CPU: (self * self).sum(dim) ** 0.5}

- func: in_parts::moments(Tensor self) -> (Tensor mean, Tensor shifted)
  meta: reduce(self, 1, accepts="floating"), pointwise(self)
  dims: r c -> r, r c; c whole
  dispatch: {CPU: "(self.mean(1), self + 1)"}
"""
DERIVATIVES = """
- name: in_parts::mix(Tensor a, Tensor b) -> Tensor
  a: mix(grad, b.mT)
  b: mix(a.mT, grad)

- name: in_parts::peak(Tensor self, int dim) -> Tensor
  self: grad.unsqueeze(dim) * self.sign() * (self.abs() == result.unsqueeze(dim))

- name: in_parts::length(Tensor self, int dim) -> Tensor
  self: grad.unsqueeze(dim) * self / result.unsqueeze(dim)
"""
KERNELS = """
#include "in_parts_kernels.h"
int mix_f32(const float *a, int a_ndim, const int64_t *as, const float *b, int b_ndim, const int64_t *bs, float *out,
            int out_ndim, const int64_t *os)
{
    if (a_ndim != 2 || b_ndim != 2 || out_ndim != 2)
        return in_parts_fail("mix takes matrices");
    for (int64_t i = 0; i < os[0]; i++)
        for (int64_t j = 0; j < os[1]; j++) {
            float sum = 0;
            for (int64_t k = 0; k < as[1]; k++)
                sum += a[i * as[1] + k] * b[k * bs[1] + j];
            out[i * os[1] + j] = sum;
        }
    return 0;
}
int slope_f32(const float *x, int ndim, const int64_t *shape, float *out, int out_ndim, const int64_t *out_shape)
{
    int64_t rows = 1, n = shape[ndim - 1];
    for (int d = 0; d < ndim - 1; d++)
        rows *= shape[d];
    for (int64_t row = 0; row < rows; row++, x += n, out += n)
        for (int64_t i = 0; i < n; i++) /* the edges are their own neighbours: zeros beyond would be wrong */
            out[i] = x[i + 2 < n ? i + 2 : n - 1] - x[i ? i - 1 : 0];
    return (void)out_ndim, (void)out_shape, 0;
}
"""
SETTINGS = """
[tool.opwright]
schemas = ["ops.yaml"]
derivatives = "derivatives.yaml"
output = "in_parts"
native = ["csrc"]
bindings = ["jax"]
"""


@pytest.fixture(scope="module")
def quickly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """C is compiled without being optimized, in a tenth of the time."""
    script = tmp_path_factory.mktemp("compiler") / "cc"
    script.write_text('#!/bin/sh\nexec cc "$@" -O0\n')
    script.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", str(script))
        yield


@pytest.fixture(scope="module")
def folder(quickly: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("sharded")
    (found / "csrc").mkdir()
    for name, text in {
        "ops.yaml": SCHEMAS,
        "derivatives.yaml": DERIVATIVES,
        "csrc/kernels.c": KERNELS,
        "pyproject.toml": SETTINGS,
    }.items():
        (found / name).write_text(text)
    assert main(["build", "--config", str(found / "pyproject.toml")]) == 0
    return found


def test_all_cuts_on_four_devices(folder: Path) -> None:
    """Values, gradients, tangents and batches are those of one device; results lie as the rule says, and nothing is
    gathered but what the rule has whole, or XLA leaves to Python."""
    found = json.loads(run("sharded_jax.py", folder).splitlines()[-1])
    assert found["faults"] == [] and found["count"] > 40
    for name, (cause, why) in found["planted"].items():  # (means of parts of one size are right)
        is_wrong = bool(cause) and not cause.endswith("linear") and "mean" not in name
        assert bool(why) == is_wrong and (": sharded at 'n' of operand 1: " in why) == is_wrong, (name, why)
    assert {cause.rpartition("-")[2] for cause, why in found["planted"].values() if why} == KINDS
    assert found["missing"] == [], "JAX has no longer what opwright_bindings.jax.runtime.private asks for"


def test_examples_are_cut_as_their_rules_say(quickly: None, tmp_path: Path) -> None:
    """Each operator of four examples, forward, gradients, tangents and batches, at each factor of its rule."""
    folders = []
    for name in ("everywhere", "native", "fused", "expressions"):
        folders.append(copy_example(name, tmp_path / name))
        settings = folders[-1] / "pyproject.toml"
        text = re.sub(r"^bindings = .*\n", "", settings.read_text(), flags=re.MULTILINE)
        settings.write_text(text.replace("[tool.opwright]\n", '[tool.opwright]\nbindings = ["jax"]\n'))
        with contextlib.chdir(folders[-1]):
            assert main(["build"]) == 0
    done = run("sharded_examples_jax.py", *folders)
    found = json.loads(done.splitlines()[-1])
    assert found["faults"] == [] and found["count"] > 150


def run(program: str, *folders: Path) -> str:
    words = [sys.executable, "-W", "ignore", str(Path(__file__).parent / program)]
    path = [*map(str, folders), str(Path(__file__).parents[4] / "tests" / "gate" / "planted"), *sys.path]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(words, cwd=folders[0], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
