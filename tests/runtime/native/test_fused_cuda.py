"""The example of fused operators on CUDA, or on the stand-in for CuPy: its kernels give what those in C give."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from native_projects import QUICK, build

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

import cupy_stand_in
from cupy_stand_in import raw

import opwright

cupy: Any = cupy_stand_in.cupy_for_tests()
EXAMPLE = Path(__file__).parents[3] / "examples" / "fused"
pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or (not cupy_stand_in.HAS_GPU and raw.COMPILER is None), reason="there is no compiler"
)
RATES = {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1}
DTYPES = [np.float32, np.float64]


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The example under a name of its own, its threads few: on the CPU each is one of the system's."""
    folder = tmp_path_factory.mktemp("fused") / "project"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("fused_ops", "__pycache__", ".*"))
    for path in (*folder.glob("*.*"), *folder.glob("csrc/*"), *folder.glob("fused/*.py")):
        text = path.read_text().replace("fused", "fused_cuda").replace("fused_cuda_cuda.h", "fused_cuda_cuda.h")
        path.write_text(text.replace("threads: 128", "threads: 16"))
    (folder / "fused").rename(folder / "fused_cuda")
    build(folder, CC=QUICK)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("fused_cuda_ops.ops")
    sys.path.remove(str(folder))


def drawn(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return seeds.numpy_generator(*shape, seed).standard_normal(shape).astype(dtype)


def on_device(value: Any) -> Any:
    return opwright.as_tensor(cupy.asarray(value)) if isinstance(value, np.ndarray) else value


def agree(function: Any, *given: Any) -> None:
    """Both kernels give the same, within what sums of other orders differ by."""
    found, wanted = function(*map(on_device, given)), function(*given)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, wanted)), strict=True):
        assert one.device.type == "cuda" and tuple(one.shape) == other.shape
        bound = 1e-4 if other.dtype == np.float32 else 1e-11
        assert one.numpy(force=True).dtype == other.dtype
        np.testing.assert_allclose(one.numpy(force=True), other, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 37), (33,), (0, 4), (3, 0)])
@pytest.mark.parametrize("affine", [(False, False), (True, False), (False, True), (True, True)])
def test_layer_norm(ops: Any, dtype: Any, shape: tuple[int, ...], affine: tuple[bool, bool]) -> None:
    x = drawn(*shape, dtype=dtype) + 3
    weight, bias = (drawn(shape[-1], dtype=dtype, seed=n) if given else None for n, given in enumerate(affine, 1))
    with np.errstate(all="ignore"):
        agree(ops.layer_norm, x, weight, bias)
        _, mean, rstd = ops.layer_norm(x, weight, bias)
    agree(ops.layer_norm_backward, drawn(*shape, dtype=dtype, seed=3), x, mean, rstd, weight)


def test_gradients_of_no_rows_are_zeros(ops: Any) -> None:
    """Memory that held something is given back first, so that zeros are written ones."""
    dirty = [cupy.full(4, 7.0) for _ in range(8)]
    x, rows = on_device(drawn(0, 4)), on_device(drawn(0))
    del dirty
    for _ in range(4):
        grad_x, grad_weight, grad_bias = ops.layer_norm_backward(x, x, rows, rows, None)
        assert grad_x.shape == (0, 4)
        assert grad_weight.tolist() == grad_bias.tolist() == [0.0] * 4


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(9, 1), (4, 7), (2, 3, 41), (101,), (0, 5)])
def test_cross_entropy(ops: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    logits = 10 * drawn(*shape, dtype=dtype)
    target = seeds.numpy_generator(0).integers(0, shape[-1], shape[:-1])
    target = np.asarray(target)
    agree(ops.cross_entropy, logits, target)
    agree(ops.cross_entropy, logits, target.astype(np.int32))
    lse = ops.cross_entropy(logits, target)[1]
    agree(ops.cross_entropy_backward, drawn(*shape[:-1], dtype=dtype, seed=5), logits, target, lse)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("view", [np.asarray, np.transpose, lambda a: a[::-1], lambda a: a[:, ::2]])
def test_adamw(ops: Any, dtype: Any, view: Any) -> None:
    """Arrays are written in place, or copied and put back where they do not lie as the convention has it."""
    memory = [abs(drawn(6, 8, dtype=dtype, seed=n)) for n in range(4)]
    device = [cupy.asarray(each) for each in memory]
    arrays = [opwright.as_tensor(view(each)) if view is not np.asarray else opwright.as_tensor(each) for each in device]
    versions = [each._version for each in arrays]
    for step in (1, 2, 3):
        assert ops.adamw_step(*arrays, **RATES, step=step) is None
        assert ops.adamw_step(*map(view, memory), **RATES, step=step) is None
    for one, other in zip(device, memory, strict=True):
        np.testing.assert_allclose(cupy.asnumpy(one), other, rtol=1e-5 if dtype == np.float32 else 1e-12)
    assert [each._version - before for each, before in zip(arrays, versions, strict=True)] == [3, 0, 3, 3]


def test_training_on_the_device(ops: Any) -> None:
    """Gradients flow through kernels in CUDA as through those in C."""
    x, weight, target = drawn(4, 6), drawn(6, seed=1), np.array([0, 5, 2, 2])
    gradients = []
    for move in (opwright.tensor, lambda value: on_device(np.asarray(value))):
        leaves = [move(value).requires_grad_() for value in (x, weight)]
        normal = ops.layer_norm(*leaves, None)[0]
        ops.cross_entropy(normal, move(target))[0].sum().backward()
        gradients.append([leaf.grad.numpy(force=True) for leaf in leaves])
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
