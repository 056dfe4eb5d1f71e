"""CUDA kernels of expressions against the same expressions in NumPy, on a GPU or the stand-in for CuPy.

On the stand-in kernels are compiled as C++. What compilers for GPUs say of the sources is in `test_cuda_compilers.py`.
"""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from expression_samples import DTYPES, EXPRESSIONS, LAYOUTS, assert_same, corners, in_numpy, laid_out, triples

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

import cupy_stand_in
from cupy_stand_in import raw

import opwright
from opwright_codegen.expressions.typed import numbers_of

cupy: Any = cupy_stand_in.cupy_for_tests()
pytestmark = pytest.mark.skipif(not cupy_stand_in.HAS_GPU and raw.COMPILER is None, reason="there is no C++ compiler")
# Each takes a second or two to compile; what elements compute is held against NumPy by the tests of loops in C, too.
CHOSEN = ("float_0", "float_3", "integer_0", "integer_3", "bool_0")
ENTRIES = """
- func: loops_cuda::axpy(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  kernel: self + alpha * other
  dtypes: float16, float32, int64, uint64, complex64
  autogen: axpy_, axpy.out
- func: loops_cuda::power(Tensor self, Tensor other) -> Tensor
  kernel: power(self, other)
  dtypes: int64
- func: loops_cuda::curves(Tensor self) -> Tensor
  kernel: sigmoid(self) + 2 * tanh(self) + 4 * erf(self) + 8 * log(exp(self))
  dtypes: float32, float64
- func: loops_cuda::dirname(Tensor self) -> Tensor
  kernel: self * 2
  dtypes: float32
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("loops_cuda")
    entries = [EXPRESSIONS[name][1].replace("loops::", "loops_cuda::") for name in CHOSEN]
    (folder / "ops.yaml").write_text("".join(entries) + ENTRIES)
    command = [sys.executable, "-m", "opwright_codegen.cli", "generate", "ops.yaml", "-o", "loops_cuda"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(folder))
    yield importlib.import_module("loops_cuda")
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def native(package: ModuleType) -> ModuleType:
    return importlib.import_module("loops_cuda.native.cuda")


def called(native: ModuleType, name: str, operands: dict[str, Any], out: Any = None) -> Any:
    expression = EXPRESSIONS[name][2]
    numbers = [operands["alpha"] for _ in numbers_of(expression.root)]
    return getattr(native, name).fast(*(operands[each] for each in expression.tensors), *numbers, out)


def on_device(array: Any) -> Any:
    """The array on the device, with the strides that it has."""
    lowest = sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True) if step < 0)
    span = sum((size - 1) * abs(step) for size, step in zip(array.shape, array.strides, strict=True)) + array.itemsize
    whole = np.lib.stride_tricks.as_strided(array, (1,) * array.ndim)  # (its first element)
    first = whole.__array_interface__["data"][0] + lowest
    held = {"shape": (span,), "typestr": "|u1", "data": (first, True), "version": 3}
    holder = type("Held", (), {"__array_interface__": held, "array": array})()
    memory = cupy.asarray(np.array(holder))
    pointer = cupy.cuda.MemoryPointer(memory.data.mem, memory.data.ptr - memory.data.mem.ptr - lowest)
    return cupy.ndarray(array.shape, array.dtype, pointer, array.strides)


@pytest.mark.parametrize("name", CHOSEN)
def test_every_corner_is_numpys(native: ModuleType, name: str) -> None:
    kind, entry, expression = EXPRESSIONS[name]
    for dtype in map(np.dtype, DTYPES[kind]):
        operands: dict[str, Any] = dict(zip("xyz", triples(dtype), strict=True))
        for alpha in (3, 0.75, -2.0) if kind == "float" else (3, 0):
            operands["alpha"] = alpha
            used = {each: operands[each] for each in (*expression.tensors, "alpha")}
            moved = {each: cupy.asarray(v) if isinstance(v, np.ndarray) else v for each, v in used.items()}
            found = cupy.asnumpy(called(native, name, moved))
            assert_same(found, in_numpy(expression, used, dtype), f"{entry}{dtype} {alpha}")


@pytest.mark.parametrize("name", CHOSEN)
def test_every_layout_is_numpys(native: ModuleType, name: str) -> None:
    kind, entry, expression = EXPRESSIONS[name]
    chance = seeds.generator(7)
    layouts = [layout for layout in LAYOUTS if layout != "misaligned"]  # (which no device reads)
    for dtype in map(np.dtype, DTYPES[kind]):
        values = seeds.numpy_generator(3).permutation(np.resize(corners(dtype), 977))
        for layout in layouts:
            operands: dict[str, Any] = {each: laid_out(values, chance.choice(layouts)) for each in "xyz"}
            operands[expression.tensors[0]] = laid_out(values, layout)
            used = {each: operands[each] for each in expression.tensors} | {"alpha": 2}
            moved = {each: on_device(v) if isinstance(v, np.ndarray) else v for each, v in used.items()}
            for each, value in moved.items():
                if each != "alpha":
                    assert value.strides == used[each].strides
            found = called(native, name, moved)
            assert_same(cupy.asnumpy(found), in_numpy(expression, used, dtype), f"{entry}{dtype} {layout}")


def test_results_in_the_place_of_operands(native: ModuleType) -> None:
    """Exactly there a kernel writes; elsewhere in an operand, or with gaps, it makes a result of its own."""
    memory = cupy.arange(12, dtype=np.float32)
    x, shifted = memory[:8], memory[1:9]
    for out in (shifted, memory[:8].reshape(8)[::-1], cupy.empty(16, np.float32)[::2], cupy.empty(8, np.int64)):
        before = cupy.asnumpy(memory)
        found = native.axpy.fast(x, x, 2, out)
        assert found is not out
        np.testing.assert_array_equal(cupy.asnumpy(memory), before)
        np.testing.assert_array_equal(cupy.asnumpy(found), np.arange(8) * 3)
    row = cupy.ones((3, 8), np.float32)
    assert native.axpy.fast(row, x, 1, row) is row
    assert native.axpy.fast(x, row, 1, row) is row
    np.testing.assert_array_equal(cupy.asnumpy(row), [np.arange(8) * 2 + 1] * 3)
    assert native.axpy.fast(x, x, 2, x) is x
    np.testing.assert_array_equal(cupy.asnumpy(memory), [0, 3, 6, 9, 12, 15, 18, 21, 8, 9, 10, 11])


def test_what_the_kernels_leave_to_cupy(native: ModuleType) -> None:
    x, whole = cupy.ones(3, np.float32), cupy.ones(3, np.int64)
    assert native.axpy.fast(x, x, True, None).dtype == np.float32
    for left in (
        (x, whole, 1), (x, np.ones(3, np.float32), 1), (x, x, 1j), (x, x, 10**400), (x, x, None), (whole, whole, 0.5),
        (whole, whole, 2**63), (x.astype(np.float64), x.astype(np.float64), 1), (x.astype("c8"), x.astype("c8"), 1),
        (cupy.ones((1, 2) * 9, np.float32), cupy.ones((2, 1) * 9, np.float32), 1),
    ):  # fmt: skip
        assert native.axpy.fast(*left, None) is NotImplemented, left
    large = cupy.asarray(np.array([1, 2**63], np.uint64))
    found = cupy.asnumpy(native.axpy.fast(large, large, 2**64 - 1, None))
    np.testing.assert_array_equal(found, np.zeros(2, np.uint64))
    assert native.axpy.fast(x[:0], x[:0], 1, None).shape == (0,)
    assert not hasattr(native, "power")
    with pytest.raises(RuntimeError, match="size of tensor a"):
        native.axpy.fast(x, cupy.ones(4, np.float32), 1, None)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "int32", "complex64"])
def test_operators(package: ModuleType, dtype: str) -> None:
    """By a kernel or by CuPy: new, in place, into `out`, transposed, broadcast, of several dtypes, on one device."""
    ops = package.ops
    x = np.arange(-6, 6).reshape(3, 4).astype(dtype)
    y = np.arange(4).astype(dtype)
    first, second = (opwright.as_tensor(cupy.asarray(each)) for each in (x, y))
    expected = x + 2 * y
    for found, wanted in (
        (ops.axpy(first, second, alpha=2), expected),
        (ops.axpy(first.t(), first.t(), alpha=2), (3 * x).T),
        (ops.axpy(first, 1.5 * second.float() if dtype == "float32" else second, alpha=2),
         x + 3 * y if dtype == "float32" else expected),
        (ops.axpy(first, second.to(opwright.int32), alpha=2), expected),
        (ops.axpy(first[:0], second), x[:0]),
    ):  # fmt: skip
        assert found.device.type == "cuda"
        np.testing.assert_array_equal(found.numpy(force=True), wanted)
        assert found.numpy(force=True).dtype == wanted.dtype
    out = opwright.empty_like(first)
    assert ops.axpy(first, second, alpha=2, out=out) is out
    np.testing.assert_array_equal(out.numpy(force=True), expected)
    assert ops.axpy_(first, second, alpha=2) is first
    np.testing.assert_array_equal(first.numpy(force=True), expected)
    with pytest.raises(RuntimeError, match="size"):
        ops.axpy(first, opwright.ones(3, device="cuda"))


def test_transposed_operands_are_dense(package: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are walked as they lie, and the result lies so, too."""
    from opwright_core.abi import CudaLoop

    launched = []
    real = CudaLoop._run

    def recorded(self: Any, launch: Any) -> None:
        launched.append(launch.function)
        real(self, launch)

    monkeypatch.setattr(CudaLoop, "_run", recorded)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for order in ((2, 0, 1), (1, 2, 0), (2, 1, 0), (0, 2, 1)):
        turned = opwright.as_tensor(cupy.asarray(x)).permute(order)
        found = package.ops.axpy(turned, turned)
        np.testing.assert_array_equal(found.numpy(force=True), 2 * x.transpose(order))
        assert found.stride() == turned.stride()
    assert launched == ["loop_axpy_f32"] * 4
    package.ops.axpy(turned, turned[:1])
    assert launched[4:] == ["loop_axpy_f32_strided"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_that_have_no_operator(package: ModuleType, dtype: str) -> None:
    x = np.array([-3, -0.5, 0, 0.25, 2], dtype)
    found = package.ops.curves(opwright.as_tensor(cupy.asarray(x))).numpy(force=True)
    expected = 1 / (1 + np.exp(-x)) + 2 * np.tanh(x) + 4 * np.vectorize(math.erf)(x) + 8 * x
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_names_of_the_module(package: ModuleType) -> None:
    """An operator may be called as what the module imports."""
    found = package.ops.dirname(opwright.ones(2, device="cuda"))
    assert found.tolist() == [2, 2]


def test_a_source_that_does_not_compile(package: ModuleType, native: ModuleType, tmp_path: Path) -> None:
    """CuPy computes, and a warning says so once."""
    from opwright_core.abi import CudaLoop, CudaSource

    (tmp_path / "broken.loops.cu").write_text("this is no CUDA")
    for name, said in (("broken", "does not compile"), ("none", "none.loops.cu")):
        source = CudaSource(str(tmp_path / "cuda.py"), f"{name}.loops.cu")
        broken = CudaLoop(source, "demo::f", {"float32": "f_f32"}, ("x: array",))
        with pytest.warns(RuntimeWarning, match=f"demo::f is computed by CuPy, step by step: .*{said}"):
            assert broken.fast(cupy.ones(3, np.float32), None) is NotImplemented
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert broken.fast(cupy.ones(3, np.float32), None) is NotImplemented
