"""Operators given to JAX: compiled calls of a C kernel, beside a handler written by hand with XLA's own headers."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np

from opwright_codegen.cli import main

from .measure import Figure, ratio

SCHEMA = """
- func: measured_jax::axpy(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor
  meta: pointwise(x, y, kind="int_to_float")
  dispatch: {CPU: "native:axpy"}
  convention: elementwise
  dtypes: float32

- func: measured_jax::softclip(Tensor self, Tensor limit) -> Tensor
  kernel: limit * tanh(self / limit)
  dtypes: float32
"""
KERNEL = """
#include "measured_jax_kernels.h"
int axpy_f32(int64_t n, const float *x, const float *y, double alpha, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)alpha * x[i] + y[i];
    return 0;
}
"""
SETTINGS = """
[tool.opwright]
schemas = ["ops.yaml"]
output = "measured_jax_ops"
native = ["csrc"]
bindings = ["jax"]
"""
PEER = Path(__file__).parent / "native_peers" / "jax_handler.cc"


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        operators = _generated(folder)
        ours, peer = jax.jit(lambda x, y: operators.axpy(x, y, alpha=2.0)), jax.jit(_by_hand(folder))
        for count, text in ((4, "4 elements"), (100_000, "100,000 elements")):
            x, y = jnp.ones(count), jnp.ones(count)
            np.testing.assert_array_equal(ours(x, y), peer(x, y))
            yield ratio(
                f"a compiled call of a C kernel by JAX, {text}",
                lambda x=x, y=y: ours(x, y).block_until_ready(),
                lambda x=x, y=y: peer(x, y).block_until_ready(),
                1.2,
                rounds=400,
            )
        yield from _gradients(operators.softclip)


def _gradients(softclip: Any) -> Iterator[Figure]:
    """Gradient steps of an expression, beside JAX's own functions: of a weighted sum, and of the sum of squares, which
    needs the result, too."""
    losses = {
        "a weighted sum": lambda call: lambda x, limit, weights: (call(x, limit) * weights).sum(),
        "squares": lambda call: lambda x, limit, weights: (call(x, limit) ** 2).sum(),
    }
    for count, text, budget, rounds in ((16, "16 elements", 1.3, 200), (1_000_000, "10^6 elements", 1.5, 5)):
        x = jnp.asarray(np.random.default_rng(0).normal(size=count), jnp.float32)
        given = (x, jnp.full(count, 0.7, jnp.float32), x + 1)
        for name, loss in losses.items():
            ours = jax.jit(jax.grad(loss(softclip), (0, 1)))
            peer = jax.jit(jax.grad(loss(lambda x, limit: limit * jnp.tanh(x / limit)), (0, 1)))
            assert "callback" not in ours.lower(*given).as_text()
            for one, other in zip(ours(*given), peer(*given), strict=True):
                np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)
            yield ratio(
                f"a gradient step of an expression by JAX, {name}, {text}",
                lambda ours=ours, given=given: jax.block_until_ready(ours(*given)),
                lambda peer=peer, given=given: jax.block_until_ready(peer(*given)),
                budget,
                rounds=rounds,
            )


def _generated(folder: Path) -> Any:
    (folder / "csrc").mkdir()
    for name, text in (("ops.yaml", SCHEMA), ("csrc/axpy.c", KERNEL), ("pyproject.toml", SETTINGS)):
        (folder / name).write_text(text)
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        assert main(["build"]) == 0
    sys.path.insert(0, str(folder))
    found = importlib.import_module("measured_jax_ops_jax")
    assert not found.binding.library.problem
    return found


def _by_hand(folder: Path) -> Any:
    library = folder / "peer.so"
    flags = ("-std=c++17", "-O3", "-fPIC", "-shared", f"-I{jax.ffi.include_dir()}")
    subprocess.run(["c++", "-w", *flags, str(PEER), "-o", str(library)], check=True)
    jax.ffi.register_ffi_target("axpy_by_hand", jax.ffi.pycapsule(ctypes.CDLL(str(library)).Axpy), platform="cpu")

    def axpy(x: Any, y: Any) -> Any:
        return jax.ffi.ffi_call("axpy_by_hand", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y, alpha=np.float64(2.0))

    return axpy
