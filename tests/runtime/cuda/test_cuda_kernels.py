"""Operators with CUDA kernels: values on a GPU or the stand-in for CuPy, errors, `opwright build`.

On the stand-in kernels are compiled as C++: blocks and threads are loops. What compilers for GPUs say of the sources is
in `test_cuda_compilers.py`; launches as data are in `test_cuda_launches.py`.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

import cupy_stand_in
from cupy_stand_in import raw

import opwright
from opwright.cuda_kernels.kernels import CudaKernel
from opwright.cuda_kernels.launches import LaunchRule
from opwright.cuda_kernels.sources import CudaSource

cupy: Any = cupy_stand_in.cupy_for_tests()
CASE = Path(__file__).parents[2] / "codegen" / "cases" / "cuda"
EXAMPLE = Path(__file__).parents[3] / "examples" / "native"
NVCC = shutil.which("nvcc")
STAND_IN_NVCC = f"{sys.executable} {Path(cupy_stand_in.__file__).with_name('nvcc.py')}"
needs_compiler = pytest.mark.skipif(
    not cupy_stand_in.HAS_GPU and raw.COMPILER is None, reason="there is no C++ compiler"
)


# -- values


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("cuda") / "project"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("native_demo", "__pycache__", ".*"))
    schema = folder / "ops.yaml"
    schema.write_text(schema.read_text().replace("native_demo::", "cuda_demo::"))
    settings_ = folder / "pyproject.toml"
    settings_.write_text(settings_.read_text().replace('"native_demo"', '"cuda_demo"').replace("derivatives", "#"))
    for path in (folder / "csrc").glob("*.cu"):
        path.write_text(path.read_text().replace("native_demo_", "cuda_demo_"))
    done = opwright_command(folder, "generate")
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(folder))
    yield importlib.import_module("cuda_demo")
    sys.path.remove(str(folder))


def opwright_command(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "opwright_codegen.cli", *command],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def on_device(array: Any) -> Any:
    return opwright.as_tensor(cupy.asarray(array))


@st.composite
def views(draw: st.DrawFn) -> tuple[Any, Any]:
    dtypes = [draw(st.sampled_from(["float32", "float64", "float16"])) for _ in range(2)]
    shape = draw(st.lists(st.integers(0, 5), max_size=3))
    values = [seeds.numpy_generator(1).standard_normal((*shape, 4)).astype(dtype) for dtype in dtypes]
    first = values[0][..., :: draw(st.sampled_from([1, 2, -1]))]
    return first, values[1][..., :1] if draw(st.booleans()) else values[1][..., : first.shape[-1]]


@needs_compiler
@given(views(), st.sampled_from([0.5, -2, 3]))
@settings(max_examples=60)
def test_values_are_numpys(example: ModuleType, given: tuple[Any, Any], alpha: float) -> None:
    x, y = given
    found = example.ops.axpy(on_device(x), on_device(y), alpha=alpha)
    expected = x.astype(np.promote_types(x.dtype, y.dtype)) * np.asarray(alpha, x.dtype) + y
    assert found.device.type == "cuda"
    assert (found.numpy(force=True).dtype, tuple(found.shape)) == (expected.dtype, expected.shape)
    rough = 1e-2 if expected.dtype == np.float16 else 1e-5
    np.testing.assert_allclose(found.numpy(force=True), expected, rtol=rough, atol=rough)


@needs_compiler
def test_rows_in_shared_memory(example: ModuleType) -> None:
    x = seeds.numpy_generator(2).standard_normal((3, 300))
    for given_, expected in ((x, x), (x[:, ::-2], x[:, ::-2]), (x.T[:4], x.T[:4])):
        mean, variance = example.ops.moments(on_device(given_))
        np.testing.assert_allclose(mean.numpy(force=True), expected.mean(1), rtol=1e-12)
        np.testing.assert_allclose(variance.numpy(force=True), expected.var(1), rtol=1e-12)
    with pytest.raises(NotImplementedError, match="takes an array of 2 dimensions first, and this has 3"):
        example.ops.moments(on_device(x[None]))


@needs_compiler
def test_out_and_overlap(example: ModuleType) -> None:
    memory = opwright.arange(8, dtype=opwright.float64, device="cuda")
    x, y, out = memory[:4], memory[4:], opwright.empty(4, dtype=opwright.float64, device="cuda")
    address = out.array.data.ptr
    assert example.ops.axpy(x, y, alpha=2.0, out=out) is out
    assert out.tolist() == [4, 7, 10, 13] and out.array.data.ptr == address
    example.ops.axpy(x, y, out=x)
    assert memory.tolist() == [4, 6, 8, 10, 4, 5, 6, 7]


@needs_compiler
def test_threads_compile_once(example: ModuleType) -> None:
    """Compiled by the first of many threads; all get the result."""
    native = importlib.import_module("cuda_demo.native.cuda")
    source = CudaSource(native.__file__, "csrc_axpy.cu")
    asked: list[str] = []
    real, start = cupy.RawModule, threading.Barrier(8)

    def counted(**given: Any) -> Any:
        asked.append(given["code"])
        return real(**given)

    found = []

    def ask() -> None:
        start.wait()
        found.append(source.function("axpy_f32", LaunchRule(), "demo::axpy"))

    cupy.RawModule = counted
    try:
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        cupy.RawModule = real
    assert len(asked) == 1
    assert len({id(function) for function, _ in found}) == 1


LOOP = """
struct opwright_sizes { int64_t at[16]; __host__ __device__ int64_t operator[](int i) const { return at[i]; } };

extern "C" __global__ void f_f32(int64_t n, const float *x, const float *y, double by, float *out)
{
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = x[i] + (float)by * y[i];
}

extern "C" __global__ void f_f32_strided(int64_t n, int ndim, opwright_sizes shape, const float *x,
                                         opwright_sizes x_strides, const float *y, opwright_sizes y_strides, double by,
                                         float *out)
{
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int64_t rest = i, x_at = 0, y_at = 0;
        for (int dim = ndim; dim-- > 0; rest /= shape[dim]) {
            x_at += rest % shape[dim] * x_strides[dim];
            y_at += rest % shape[dim] * y_strides[dim];
        }
        out[i] = x[x_at] + (float)by * y[y_at];
    }
}
"""


@needs_compiler
@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize("ends", [(3, 4, 5), (1, 4, 5), (3, 4, 1), (4, 5), (5,), (), (0, 4, 5)])
def test_loops(tmp_path_factory: pytest.TempPathFactory, step: int, ends: tuple[int, ...]) -> None:
    """The convention of generated source: dense operands by one function, others by their strides, nothing copied."""
    folder = tmp_path_factory.getbasetemp()
    types = "typedef long long int64_t;\n" if cupy_stand_in.HAS_GPU else ""
    (folder / "loop.cu").write_text(types + LOOP)
    arguments = ("x: array", "y: array", "by: float")
    source = CudaSource(str(folder / "x.py"), "loop.cu")
    made = CudaKernel(source, "demo::f", "loop", {"float32": "f_f32"}, arguments, ("",))
    rng = seeds.numpy_generator(3)
    x = rng.standard_normal((0 if 0 in ends else 3, 4, 10)).astype(np.float32)[..., : 5 * abs(step) : abs(step)]
    y = rng.standard_normal(ends).astype(np.float32)
    x = x[..., ::-1] if step < 0 else x
    on = [cupy.asarray(each) for each in (x, y)]
    found = made(opwright.rules.pointwise(*on), *on, 0.5)
    np.testing.assert_allclose(cupy.asnumpy(found), x + np.float32(0.5) * y, rtol=1e-6)


@pytest.mark.cuda
@pytest.mark.skipif(not cupy_stand_in.HAS_GPU, reason="needs a GPU")
def test_streams_and_devices(example: ModuleType) -> None:
    """Work goes to CuPy's current stream, and to the device of the operands, whichever is current."""
    devices = range(cupy.cuda.runtime.getDeviceCount())
    for device in devices:
        with cupy.cuda.Device(device), cupy.cuda.Stream(non_blocking=True) as stream:
            x = opwright.as_tensor(cupy.arange(1 << 20, dtype=np.float32))
            found = example.ops.axpy(x, x, alpha=2.0)
            stream.synchronize()
        assert found.device.index == device
        elsewhere = example.ops.axpy(x, x, alpha=2.0)  # called where the first device is current
        assert elsewhere.device.index == device
        np.testing.assert_array_equal(elsewhere.numpy(force=True), found.numpy(force=True))


# -- errors


def source_with(folder: Path, example: ModuleType, old: str, new: str) -> CudaSource:
    native = importlib.import_module(f"{example.__name__}.native.cuda")
    text = Path(native.__file__).with_name("csrc_axpy.cu").read_text()
    assert old in text
    (folder / "changed.cu").write_text(text.replace(old, new))
    return CudaSource(str(folder / "x.py"), "changed.cu")


@needs_compiler
@pytest.mark.parametrize(
    "old, new, said",
    [
        ("= alpha * x[i]", "= alpa * x[i]", "csrc/axpy.cu"),
        ("double alpha, float *out)\n{", "float alpha, float *out)\n{", "axpy_f32 has another prototype in cuda_demo"),
    ],
)
def test_what_does_not_compile_is_said_with_its_line(
    example: ModuleType, tmp_path: Path, old: str, new: str, said: str
) -> None:
    source = source_with(tmp_path, example, old, new)
    with pytest.raises(RuntimeError) as caught:
        source.function("axpy_f32", LaunchRule(), "demo::axpy")
    assert str(caught.value).startswith("demo::axpy: its CUDA kernel does not compile\n")
    assert said in str(caught.value)


@needs_compiler
def test_other_errors_of_a_launch(example: ModuleType, tmp_path: Path) -> None:
    source = source_with(tmp_path, example, "axpy", "axpy")
    with pytest.raises(RuntimeError, match=r"demo::axpy: changed.cu has no kernel 'axpy_f16'"):
        source.function("axpy_f16", LaunchRule(), "demo::axpy")
    arguments = ("x: array", "y: array", "alpha: float")
    x = on_device(np.ones(3, np.float32))
    plan = opwright.rules.pointwise(x.array, x.array)
    rule = LaunchRule(shared=10**6)
    huge = CudaKernel(source, "demo::axpy", "elementwise", {"float32": "axpy_f32"}, arguments, ("",), rule)
    with pytest.raises(
        RuntimeError, match="demo::axpy: the CUDA kernel 'axpy_f32' cannot be launched: 1,000,000 bytes"
    ):
        huge(plan, x.array, x.array, 1.0)
    with pytest.raises(NotImplementedError, match="not implemented for float32: its CUDA kernel takes float64"):
        other = CudaKernel(source, "demo::axpy", "elementwise", {"float64": "axpy_f64"}, arguments, ("",))
        other(plan, x.array, x.array, 1.0)


# -- functions that nvcc compiles


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The case, built by nvcc for a GPU, else by the stand-in for nvcc."""
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("nvcc") / "project"
    shutil.copytree(CASE, folder)
    schema = folder / "ops.yaml"
    schema.write_text(schema.read_text().replace("demo::", "nvcc_demo::"))
    for path in (folder / "csrc").glob("*.cu"):
        path.write_text(path.read_text().replace("demo_cuda", "nvcc_demo_cuda"))
    (folder / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "nvcc_ops"\n')
    done = opwright_command(folder, "build", NVCC=nvcc())
    assert done.returncode == 0, done.stderr
    assert "3 of 3 files compiled" in done.stdout
    return folder


def nvcc() -> str:
    return "nvcc" if cupy_stand_in.HAS_GPU else STAND_IN_NVCC


def test_functions_of_the_host(built: Path) -> None:
    sys.path.insert(0, str(built))
    ops = importlib.import_module("nvcc_ops.ops")
    sys.path.remove(str(built))
    x = np.arange(1000, dtype=np.float32)
    np.testing.assert_array_equal(ops.twice(on_device(x), 2.5).numpy(force=True), 2.5 * x)
    np.testing.assert_array_equal(ops.twice(on_device(x[::-3]), 2).numpy(force=True), 2 * x[::-3])
    assert ops.twice(on_device(x[:0]), -1).numel() == 0
    with pytest.raises(RuntimeError, match=r"^nvcc_demo::twice: by is negative"):
        ops.twice(on_device(x), -1.0)
    for dtype in ("bool", "uint16", "int64", "float64", "complex64"):
        words = on_device(np.ones((2, 3), dtype))
        first, second = ops.words(words, words, True, 3, words)
        assert first.numpy(force=True).any() == second.numpy(force=True).any() == False  # noqa: E712
        assert first.dtype == words.dtype
    rows = np.arange(12).reshape(3, 4)[::2]
    np.testing.assert_array_equal(ops.rows(on_device(rows), on_device(rows), 1).numpy(force=True), rows)
    with pytest.raises(RuntimeError, match="rows of one element behind the other are needed"):
        ops.rows(on_device(rows.T), on_device(rows), 1)


def test_only_what_changed_is_compiled(built: Path) -> None:
    assert "up to date, 3 files" in opwright_command(built, "build", NVCC=nvcc()).stdout
    path = built / "csrc" / "words.cu"
    text = path.read_text()
    path.write_text(text.replace("cudaGetLastError", "cudaGetLastEror"))
    done = opwright_command(built, "build", NVCC=nvcc())
    assert done.returncode == 1
    line = 1 + text[: text.index("cudaGetLastError")].count("\n")
    assert f"csrc/words.cu:{line}" in done.stderr or f"csrc/words.cu({line})" in done.stderr
    path.write_text(
        text.replace("int twice_f32(int64_t n, const float", "int twice_f32(int64_t n, const float *, const float")
    )
    done = opwright_command(built, "build", NVCC=nvcc())
    assert done.returncode == 1
    path.write_text(text)
    done = opwright_command(built, "build", NVCC=nvcc())
    assert "1 of 3 files compiled" in done.stdout, done.stderr


def test_without_nvcc_a_line_says_so(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "p", ignore=shutil.ignore_patterns("build", "*.so", "__pycache__"))
    done = opwright_command(tmp_path / "p", "build", PATH=str(tmp_path), NVCC="")
    assert done.returncode == 0, done.stderr
    assert "the CUDA kernels of nvcc_demo are not built: there is no nvcc: install" in done.stdout
    done = opwright_command(tmp_path / "p", "build", NVCC="no-such-nvcc")
    assert done.returncode == 1
    assert done.stderr.startswith("opwright: NVCC names 'no-such-nvcc', which is not installed: install NVIDIA's")
