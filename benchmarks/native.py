"""C kernels: what a shim costs beyond the bare call, beside other bindings, and operators beside NumPy.

The example is built where no other run looks. nanobind and cffi are measured where they are installed.
"""

from __future__ import annotations

import ctypes
import importlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import opwright
from opwright_codegen.views.headers import include_dir

from .measure import Figure, beyond, ratio

HERE = Path(__file__).parent
PEERS = HERE / "native_peers"


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as made:
        folder = built("native", Path(made))
        native, ops = (importlib.import_module(f"native_demo.{name}") for name in ("native", "ops"))
        yield from shims(native.axpy.fast, folder)
        yield from operators(ops)
        built("fused", Path(made))
        yield from fused(importlib.import_module("train"))


def built(example: str, made: Path) -> Path:
    """Return the folder of an example that is built where no other run looks; its modules can be imported."""
    folder = made / example
    ignored = shutil.ignore_patterns("native_demo", "fused_ops", "__pycache__", ".*")
    shutil.copytree(HERE.parent / "examples" / example, folder, ignore=ignored)
    subprocess.run([sys.executable, "-m", "opwright_codegen.cli", "build"], cwd=folder, check=True, stdout=2)
    sys.path.insert(0, str(folder))
    return folder


def shims(fast: Any, folder: Path) -> Iterator[Figure]:
    """The C shim of four floats, whose arrays are checked, beside calls that check less, or more slowly."""
    x, y, out = np.arange(4.0), np.ones(4), np.empty(4)
    ours, ours_new = partial(fast, x, y, 2.0, out), partial(fast, x, y, 2.0, None)
    bare = extension(folder, "bare", ["cc", "-std=c11"], [PEERS / "bare.c"])
    yield beyond("checks of a C shim, out=", ours, partial(bare.axpy, x, y, 2.0, out), 10e-9)
    yield beyond("checks of a C shim that allocates", ours_new, partial(bare.axpy, x, y, 2.0, None), 10e-9)
    if find_spec("nanobind"):
        yield ratio("C shim against nanobind, out=", ours, partial(nanobind_axpy(folder), x, y, 2.0, out), 0.4)
    library = folder / "libaxpy.so"
    compile_c(folder, ["cc"], [folder / "csrc" / "axpy.c"], library, ["-Dnative_demo_fail=unused"])
    yield ratio("C shim against ctypes, out=", ours, partial(ctypes_axpy(library), x, y, 2.0, out))
    if find_spec("cffi"):
        yield ratio("C shim against cffi, out=", ours, partial(cffi_axpy(library), x, y, 2.0, out))
    yield ratio("C shim against np.add, out=", ours, partial(np.add, x, y, out))


def operators(ops: ModuleType) -> Iterator[Figure]:
    """Whole operators of four floats, and the optimizer's step, beside NumPy's way to say it."""
    x, y, out = np.arange(4.0), np.ones(4), np.empty(4)
    tensors = [opwright.from_numpy(each) for each in (x, y, out)]
    yield ratio("axpy of plain arrays against NumPy", partial(ops.axpy, x, y, alpha=2.0), lambda: 2.0 * x + y)
    yield ratio("axpy of Tensors against NumPy", partial(ops.axpy, *tensors[:2], alpha=2.0), lambda: 2.0 * x + y)
    into = partial(ops.axpy, *tensors[:2], alpha=2.0, out=tensors[2])
    yield ratio("axpy of Tensors, out=, against NumPy", into, lambda: np.add(np.multiply(x, 2.0, out), y, out))
    for count, rounds in ((4, 300), (1_000_000, 3)):
        state = [np.random.default_rng(n).random(count, np.float32) for n in range(4)]
        step = partial(ops.adamw_step, *map(opwright.from_numpy, state), step=3)
        peer = partial(numpy_step, *(each.copy() for each in state), 3)
        yield ratio(f"AdamW step of {count:,} float32 against NumPy", step, peer, rounds=rounds, repeats=31)


def fused(train: ModuleType) -> Iterator[Figure]:
    """Operators of one kernel beside the same of several: forward and backward, and the optimizer's step."""
    random = np.random.default_rng(0)
    x, target = random.random((512, 128), np.float32), opwright.tensor(random.integers(0, 1024, 512))
    norm = [opwright.tensor(each, requires_grad=True) for each in (x, x[0], x[1])]
    logits = opwright.tensor(random.random((512, 1024), np.float32), requires_grad=True)

    def normalize(form: Any) -> None:
        form.layer_norm(*norm).sum().backward()

    def lose(form: Any) -> None:
        form.cross_entropy(logits, target).backward()

    for what, call in (("layer norm (512, 128)", normalize), ("cross entropy (512, 1024)", lose)):
        ours, peer = partial(call, train.FUSED), partial(call, train.COMPOSED)
        yield ratio(f"{what}, forward and backward, fused against composed", ours, peer, rounds=2, repeats=31)
    state = [opwright.tensor(random.random(100_000, np.float32)) for _ in range(4)]
    ours, peer = (
        partial(form.adamw_step, *state, **train.RATES, step=3) for form in (train.FUSED, train.COMPOSED)
    )  # fmt: skip
    yield ratio("AdamW step of 100,000 float32, fused against composed", ours, peer, rounds=5, repeats=31)


def numpy_step(param: Any, grad: Any, mean: Any, square: Any, step: int) -> None:
    mean *= 0.9
    mean += 0.1 * grad
    square *= 0.999
    square += 0.001 * grad * grad
    param *= 1 - 1e-5
    param -= 1e-3 / (1 - 0.9**step) * mean / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)


# -- the peers


def compile_c(folder: Path, compiler: list[str], sources: list[Path], target: Path, flags: list[str]) -> None:
    include = [f"-I{folder / 'native_demo' / 'native'}", f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
    include.append(f"-I{include_dir()}")
    command = [*compiler, "-O3", "-shared", "-fPIC", *flags, *include, *map(str, sources), "-o", str(target)]
    subprocess.run(command, check=True)


def extension(folder: Path, name: str, compiler: list[str], sources: list[Path], flags: tuple[str, ...] = ()) -> Any:
    """Return a module that is compiled with the kernels of the example."""
    kernels = folder / f"{name}_axpy.o"
    include = f"-I{folder / 'native_demo' / 'native'}"
    made = ["cc", "-O3", "-fPIC", "-c", include, str(folder / "csrc" / "axpy.c"), "-o", str(kernels)]
    subprocess.run(made, check=True)
    target = folder / f"{name}.abi3.so"
    compile_c(folder, compiler, [*sources, kernels], target, list(flags))
    spec = spec_from_file_location(name, target)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nanobind_axpy(folder: Path) -> Any:
    nanobind = importlib.import_module("nanobind")
    source = Path(nanobind.source_dir())
    flags = (
        "-DNDEBUG", "-fvisibility=hidden", f"-I{nanobind.include_dir()}",
        f"-I{source.parent / 'ext' / 'robin_map' / 'include'}",
    )  # fmt: skip
    return extension(
        folder, "bound", ["c++", "-std=c++17"], [PEERS / "bound.cpp", source / "nb_combined.cpp"], flags
    ).axpy


def ctypes_axpy(library: Path) -> Any:
    kernel = ctypes.CDLL(str(library)).axpy_f64
    pointer = ctypes.c_void_p
    kernel.argtypes = [ctypes.c_int64, pointer, pointer, ctypes.c_double, pointer]

    def axpy(x: Any, y: Any, alpha: float, out: Any) -> Any:
        kernel(x.size, x.ctypes.data, y.ctypes.data, alpha, out.ctypes.data)
        return out

    return axpy


def cffi_axpy(library: Path) -> Any:
    ffi = importlib.import_module("cffi").FFI()
    ffi.cdef("int axpy_f64(int64_t n, const double *x, const double *y, double alpha, double *out);")
    kernel, pointer = ffi.dlopen(str(library)).axpy_f64, ffi.from_buffer

    def axpy(x: Any, y: Any, alpha: float, out: Any) -> Any:
        kernel(x.size, pointer("double[]", x), pointer("double[]", y), alpha, pointer("double[]", out))
        return out

    return axpy
