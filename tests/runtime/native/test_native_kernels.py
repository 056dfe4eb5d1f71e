"""Operators with C kernels: compiled for real, compared with NumPy, on arrays of every kind; and their library.

Without a C compiler these tests are skipped; continuous integration has one.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from native_projects import EXAMPLE, build, run_build
from python_calls import calls_of

import opwright
from opwright.autograd import gradcheck
from opwright.func import vmap
from opwright.library import opcheck
from opwright_codegen.cli import main
from opwright_core.core import fast

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built where no other run looks."""
    folder = tmp_path_factory.mktemp("native") / "project"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("native_demo", "__pycache__", ".*"))
    build(folder, CFLAGS="-Wall -Wextra -Werror")
    return folder


@pytest.fixture(scope="module")
def demo(project: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(project))
    yield importlib.import_module("native_demo")
    sys.path.remove(str(project))


# -- values


DTYPES = ["float32", "float64", "float16", "int64", "bool", "complex64", ">f8", "longlong", "uint8"]


@st.composite
def arrays(draw: st.DrawFn, dtypes: list[str]) -> np.ndarray[Any, Any]:
    """Arrays of up to three dimensions: with gaps, backwards, repeated, misaligned, read-only, empty."""
    shape = draw(st.sampled_from([(), (0,), (1,), (4,), (2, 3), (3, 1), (1, 3), (2, 0, 3), (2, 2, 3)]))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    seed = draw(st.integers(0, 99))
    array = seeds.numpy_generator(seed).integers(0, 9, [2 * size for size in shape]).astype(dtype)
    steps = tuple(slice(None, None, draw(st.sampled_from([2, -2]))) for _ in shape)
    array = array[(..., *steps)] if draw(st.booleans()) else array[(..., *(slice(0, size) for size in shape))]
    match draw(st.sampled_from(["", "dense", "fortran", "misaligned", "repeated", "read-only"])):
        case "dense":
            array = np.array(array, order="C")
        case "fortran":
            array = np.array(array, order="F")
        case "misaligned":
            memory = np.zeros(array.nbytes + 1, np.uint8)[1:].view(dtype).reshape(array.shape)
            memory[...] = array
            array = memory
        case "repeated":
            array = np.lib.stride_tricks.as_strided(array, array.shape, (0,) * array.ndim)
        case "read-only":
            array = array.copy()
            array.flags.writeable = False
    return array


ARRAYS = arrays(["float32", "float64", "float16"])
ANY = arrays(DTYPES)


@settings(deadline=None, max_examples=300)
@given(ARRAYS, ARRAYS, st.sampled_from([1.0, 2, -0.5, True]))
def test_elementwise_is_what_numpy_gives(demo: ModuleType, x: Any, y: Any, alpha: float) -> None:
    try:
        expected = alpha * x.astype("f8") + y.astype("f8")
    except ValueError:
        with pytest.raises((RuntimeError, ValueError)):
            demo.ops.axpy(x, y, alpha=alpha)
        return
    tensors = [opwright.tensor(each.tolist(), dtype=each.dtype).reshape(each.shape) for each in (x, y)]
    for found in (demo.ops.axpy(x, y, alpha=alpha), np.asarray(demo.ops.axpy(*tensors, alpha=alpha))):
        assert found.dtype == opwright.result_type(*tensors)
        np.testing.assert_array_equal(found.astype("f8"), expected)


def test_operands_of_several_dtypes_keep_their_plan(demo: ModuleType) -> None:
    """The compiled core casts them and calls C: of our Python there is a stub at most, and its search."""
    single, double = opwright.ones(2, 3), opwright.ones(2, 3, dtype=opwright.float64)
    for x, y, most in ((single, single, 12), (single, double, 60)):
        found = calls_of(lambda x=x, y=y: demo.ops.axpy(x, y))
        assert len(found) <= (2 if fast is not None else most), found
        result = demo.ops.axpy(x, y)
        assert result.dtype == y.dtype and result.tolist() == [[2.0] * 3] * 2


@settings(deadline=None, max_examples=200)
@given(arrays(["float32", "float64", "int64", "longlong"]))
def test_contiguous_is_what_numpy_gives(demo: ModuleType, array: Any) -> None:
    expected = np.maximum.accumulate(array, axis=-1) if array.ndim else array
    np.testing.assert_array_equal(demo.ops.running_max(array), expected)


@settings(deadline=None, max_examples=200)
@given(arrays(["float32", "float64"]).filter(lambda array: array.ndim == 2 and array.size > 0))
def test_strided_is_what_numpy_gives(demo: ModuleType, array: Any) -> None:
    mean, variance = demo.ops.moments(array)
    np.testing.assert_allclose(mean, array.mean(axis=1, dtype="f8"), rtol=1e-6)
    np.testing.assert_allclose(variance, array.var(axis=1, dtype="f8"), rtol=1e-5, atol=1e-6)


@settings(deadline=None, max_examples=1000)
@given(st.lists(ANY | st.sampled_from([None, 1.5, 2, 2**70, "x", [1.0], True, memoryview(b"ab")]), max_size=5))
def test_the_c_shims_serve_or_say_that_they_do_not(demo: ModuleType, given_: list[Any]) -> None:
    """Called directly with anything: an answer, NotImplemented, or what a kernel says. Nothing is written to inputs.

    Results have the shape of the plan, which alone knows it: those of `running_max` and `moments` are made here.
    """
    native = importlib.import_module("native_demo.native")
    calls = [(native.axpy, given_, 3), (native.running_max, given_[:1], 1), (native.moments, given_[:1], 1)]
    if given_ and isinstance(given_[0], np.ndarray):
        first = given_[0]
        calls.append((native.running_max, [first, np.empty(first.shape, first.dtype)], 1))
        calls.append((native.moments, [first, *(np.empty(first.shape[:1], first.dtype) for _ in range(2))], 1))
    for kernel, passed, inputs in calls:
        before = [each.tobytes() if isinstance(each, np.ndarray) else each for each in passed[:inputs]]
        try:
            kernel.fast(*passed)
        except RuntimeError as error:
            assert "moments takes a matrix" in str(error)
        assert [each.tobytes() if isinstance(each, np.ndarray) else each for each in passed[:inputs]] == before


def test_out_and_overlap(demo: ModuleType) -> None:
    """Results never lie in operands: an output that overlaps is written behind the kernel."""
    native = importlib.import_module("native_demo.native")
    memory = np.arange(12.0)
    x, y, out = memory[:4], memory[4:8], memory[8:]
    assert native.axpy.fast(x, y, 2.0, out) is out
    np.testing.assert_array_equal(out, 2 * x + y)
    assert native.axpy.fast(x, y, 2.0, memory[3:7]) is NotImplemented
    assert native.axpy.fast(x, y, 2.0, x) is NotImplemented
    assert native.axpy.fast(x, y, 2.0, out[::-1]) is NotImplemented
    frozen = out.copy()
    frozen.flags.writeable = False
    assert native.axpy.fast(x, y, 2.0, frozen) is NotImplemented
    target = opwright.zeros(4, dtype=opwright.float64)
    first = opwright.arange(4, dtype=opwright.float64)
    assert demo.ops.axpy(first, first, out=target) is target
    assert target.tolist() == [0, 2, 4, 6]
    demo.ops.axpy(first, target, out=first)
    assert first.tolist() == [0, 3, 6, 9]


def test_it_is_an_operator_like_others(demo: ModuleType) -> None:
    x, y = (opwright.rand(2, 3, dtype=opwright.float64, requires_grad=True) for _ in range(2))
    assert set(opcheck(opwright.ops.native_demo.axpy.default, (x, y)).values()) == {"SUCCESS"}
    assert gradcheck(lambda a, b: demo.ops.axpy(a, b, alpha=0.5), (x, y))
    batched = vmap(demo.ops.axpy)(x, y)
    np.testing.assert_array_equal(batched.detach(), (x + y).detach())
    with opwright.fake.FakeTensorMode():
        shapes = demo.ops.moments(opwright.empty(5, 7))
    assert [tuple(each.shape) for each in shapes] == [(5,), (5,)]


def test_large_calls_release_the_lock(demo: ModuleType) -> None:
    """Another thread runs while a function of C does: it counts, and is seen to have counted."""
    counted = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.0001)  # gives the lock back

    native = importlib.import_module("native_demo.native")
    x = np.zeros(4_000_000)
    out = np.empty_like(x)
    interval = sys.getswitchinterval()
    thread = threading.Thread(target=count)
    thread.start()
    try:
        sys.setswitchinterval(100)  # the lock goes to another thread only where it is released
        before = counted
        for _ in range(5):
            native.axpy.fast(x, x, 1.0, out)
        assert counted > before
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


def test_errors_are_worded_in_python(demo: ModuleType) -> None:
    with pytest.raises(NotImplementedError, match="running_max: not implemented for int32: its C kernel takes int64"):
        demo.ops.running_max(np.arange(3, dtype=np.int32))
    with pytest.raises(RuntimeError, match=r"^native_demo::moments: moments takes a matrix"):
        demo.ops.moments(np.zeros((2, 2, 2)))
    with pytest.raises(TypeError, match="expected Tensor for argument 'y'"):
        demo.ops.axpy(np.zeros(2), "x")


# -- the command


def test_only_what_changed_is_compiled(project: Path, demo: ModuleType) -> None:
    assert "up to date, 5 files" in build(project, CFLAGS="-Wall -Wextra -Werror")
    path = project / "csrc" / "axpy.c"
    text = path.read_text()
    path.write_text(text + "\n")
    said = build(project, CFLAGS="-Wall -Wextra -Werror")
    assert "csrc/axpy.c" in said
    assert "1 of 5 files compiled" in said
    path.write_text(text.replace("const float *x", "const char *x"))
    done = run_build(project, CFLAGS="-Wall -Wextra -Werror")
    assert done.returncode == 1
    assert "csrc/axpy.c:3:5: error: conflicting types for" in done.stderr
    path.write_text(text.replace("axpy_f64", "axpy_f63"))
    done = run_build(project)
    assert done.returncode == 1
    assert "no C file has the function 'axpy_f64' (csrc/axpy.c has 'axpy_f63')" in done.stderr
    path.write_text(text)
    assert "compiled" in build(project, CFLAGS="-Wall -Wextra -Werror")
    assert all("-O3" in kept["command"] for kept in state(project))
    assert all({"-fno-math-errno", "-fno-trapping-math"} <= set(kept["command"]) for kept in state(project))
    assert not any("-march=native" in kept["command"] for kept in state(project))


def state(project: Path) -> list[Any]:
    found = json.loads((project / "native_demo" / "native" / "build" / "state.json").read_text())
    return [kept for name, kept in found.items() if name != "link"]


def test_several_namespaces_say_which_files_are_whose(tmp_path: Path) -> None:
    def entry(name: str) -> str:
        keys = "  meta: pointwise(x)\n  dispatch: {CPU: native:same}\n  convention: elementwise\n  dtypes: float64\n"
        return f"- func: {name}::same(Tensor x) -> Tensor\n{keys}"

    body = 'int same_f64(int64_t n, const double *x, double *out) { return n && x && out ? 0 : %s_fail("none"); }\n'
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(entry(name))
        (tmp_path / f"{name}.c").write_text(f'#include "{name}_kernels.h"\n' + body % name)
    shared = '[tool.opwright]\nschemas = ["one.yaml", "two.yaml"]\noutput = {one = "one_ops", two = "two_ops"}\n'
    (tmp_path / "pyproject.toml").write_text(shared + 'native = ["one.c", "two.c"]\n')
    done = run_build(tmp_path)
    assert done.returncode == 2
    assert "native of [tool.opwright] is a table, for several namespaces" in done.stderr
    (tmp_path / "pyproject.toml").write_text(shared + 'native = {one = ["one.c"], two = ["two.c"]}\n')
    build(tmp_path)
    code = "import numpy as n, one_ops.ops as o, two_ops.ops as t; t.same(n.ones(1)), o.same(n.ones(0))"
    assert_says(tmp_path, code, "", "RuntimeError: one::same: none")
    (tmp_path / "two.c").unlink()
    done = run_build(tmp_path)
    assert done.returncode == 1
    assert done.stderr == "opwright: two.c, which [tool.opwright] names, is missing\n"


def test_what_is_missing_is_said_in_a_line(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiler, no library, a stale one: one line each, and operators with kernels in NumPy work."""
    shutil.copytree(EXAMPLE, tmp_path / "p", ignore=shutil.ignore_patterns("native_demo", "__pycache__", ".*"))
    folder = tmp_path / "p"
    schema = folder / "ops.yaml"
    schema.write_text(
        schema.read_text().replace("native_demo::", "late::")
        + "- func: late::twice(Tensor x) -> Tensor\n  meta: pointwise(x)\n  dispatch: {CPU: 'xp.add(x, x)'}\n"
    )
    settings_ = folder / "pyproject.toml"
    settings_.write_text(settings_.read_text().replace('"native_demo"', '"late_ops"').replace("derivatives", "#"))
    for path in (folder / "csrc").iterdir():
        path.write_text(path.read_text().replace("native_demo_", "late_"))
    done = run_build(folder, CC="no-such-compiler")
    assert done.returncode == 1
    assert done.stderr.startswith("opwright: CC names 'no-such-compiler', which is not installed: install gcc")
    call = "import numpy, late_ops.ops as o; print(o.twice(numpy.ones(2))); o.running_max(numpy.ones(2))"
    assert_says(folder, call, "[2. 2.]", "its library has not been built: run `opwright build`")
    build(folder)
    text = schema.read_text()
    schema.write_text(text.replace("int64, float32", "float32, int64"))
    monkeypatch.chdir(folder)
    assert main(["generate"]) == 0
    assert_says(folder, call, "[2. 2.]", "its library was built from other schemas: run `opwright build`")
    schema.write_text(text)
    assert main(["generate"]) == 0
    (folder / "late_ops" / "native" / "_late.abi3.so").write_bytes(b"no library")
    assert_says(folder, call, "[2. 2.]", "its library cannot be loaded")


def assert_says(folder: Path, code: str, out: str, error: str) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert out in done.stdout, done.stderr
    assert error in done.stderr.strip().rpartition("\n")[2], (done.stdout, done.stderr, done.returncode)
