"""Kernels for Numba and of tvm-ffi modules beside those in C: values, gradients, fakes, errors, bindings."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import seeds

pytest.importorskip("numba", reason="needs Numba: pip install --group elsewhere")
pytest.importorskip("llvmlite", reason="needs Numba: pip install --group elsewhere")
if importlib.util.find_spec("tvm_ffi") is None:
    pytest.skip("needs tvm-ffi: pip install --group elsewhere", allow_module_level=True)

from elsewhere_project import make_project

import opwright
from opwright import errors, vmap
from opwright.autograd import gradcheck
from opwright.fake import FakeTensorMode
from opwright.foreign_kernels import sources
from opwright.library import opcheck
from opwright_codegen.cli import main
from opwright_gate.run import gate

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
NAMES = ("axpy_numba", "axpy_arrays", "axpy_tvm")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = make_project(tmp_path_factory.mktemp("elsewhere") / "project", '"tvm_ffi", "torch", "jax", "dask"')
    with contextlib.chdir(folder):
        assert main(["build"]) == 0
    sys.path.insert(0, str(folder))
    with without_torch():
        yield folder
    sys.path.remove(str(folder))


@contextlib.contextmanager
def without_torch() -> Iterator[None]:
    """Have tvm-ffi do without PyTorch, whose import takes seconds, if nobody has imported it."""
    if "torch" in sys.modules or "tvm_ffi" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        import tvm_ffi  # noqa: F401
    finally:
        del sys.modules["torch"]
    yield


@pytest.fixture(scope="module")
def ops(project: Path) -> Any:
    before = set(sys.modules)
    found = importlib.import_module("elsewhere_demo").ops
    assert not {"kernels_numba", "more_numba", "more_tvm"} & (set(sys.modules) - before)  # nothing ran yet
    return found


def operands(dtype: str) -> Iterator[tuple[Any, Any]]:
    random = seeds.numpy_generator(5)
    for first, second in (
        ((3, 4), (4,)),
        ((0, 2), (2,)),
        ((), ()),
        ((5,), (5,)),
        ((2, 1, 3), (4, 1)),
        ((30000,), (1,)),
    ):
        x, y = (np.asarray(random.standard_normal(shape) * 8).astype(dtype) for shape in (first, second))
        yield x, y
        yield (x[::-1] if x.ndim else x), y


def test_each_is_equal_to_the_kernel_in_c(ops: Any) -> None:
    for name in NAMES:
        is_of_arrays = name == "axpy_arrays"  # which Numba compiles for each number of dimensions
        for dtype in ("float64",) if is_of_arrays else ("float32", "float64", "float16"):
            for x, y in list(operands(dtype))[2:6:2] if is_of_arrays else operands(dtype):
                expected = ops.axpy_c(x, y, alpha=0.25)
                x_of = x.copy()
                x_of.flags.writeable = False
                for given in ((x, y), (x_of, y), (opwright.from_numpy(x), opwright.from_numpy(y))):
                    found = np.asarray(getattr(ops, name)(*given, alpha=0.25))
                    assert found.dtype == expected.dtype and np.array_equal(found, expected), (name, dtype, x.shape)
        with pytest.raises(RuntimeError):
            getattr(ops, name)(np.arange(3), np.arange(3))


def test_each_has_gradients_fakes_and_batches(ops: Any) -> None:
    for name in NAMES:
        axpy, given = getattr(ops, name), ([1.0, 2.0], [3.0, 4.0])
        x, y = (opwright.tensor(value, dtype=opwright.float64, requires_grad=True) for value in given)
        assert gradcheck(axpy, (x, y))
        assert set(opcheck(f"elsewhere_demo::{name}", (x, y), {"alpha": 2}).values()) == {"SUCCESS"}
        assert vmap(axpy)(opwright.ones(2, 3), opwright.ones(2, 3)).tolist() == [[2.0] * 3] * 2
        with FakeTensorMode():
            assert axpy(opwright.empty(2, 3), opwright.empty(3)).shape == (2, 3)


def test_conventions_of_numba(ops: Any) -> None:
    random = seeds.numpy_generator(6)
    x = (random.standard_normal((3, 5)) * 9).astype(np.int64)
    for given in (x, x.T.copy().T, np.repeat(x, 2, 0)[::2], opwright.from_numpy(x)):
        assert np.array_equal(ops.running_max(given), np.maximum.accumulate(x, 1))
    for dtype, by in ((np.float32, 0.5), (np.complex128, 1 + 2j)):
        base = (random.standard_normal((4, 6)) * 9).astype(dtype)
        for pick in (lambda a: a, lambda a: a.T, lambda a: a[::2, 1:4], lambda a: a[::-1]):
            given = base.copy()
            expected = pick(given) * np.array(by, dtype) * 2 + 7 + 3
            assert ops.scale_(pick(given), by, [1.0, 2.0], True, 7) is not None
            assert np.allclose(pick(given), expected)
            assert np.allclose(ops.scale(pick(base), by, [1.0, 2.0], True, 7), expected)
    index = np.array([2, 0, 1])
    found = ops.weighted(np.arange(6.0)[::2], index[::-1], 0.5)
    assert np.array_equal(found, np.arange(6.0)[::2] * index[::-1] * 0.5)
    with pytest.raises(RuntimeError, match="'by' is 1e\\+300, which float32 does not hold"):
        ops.weighted(np.ones(3, np.float32), index, 1e300)


def test_what_a_function_says_is_raised(ops: Any) -> None:
    x = np.ones(3)
    for _ in range(2):  # by the shim in Python, which compiles, and by the compiled core
        ops.picky(x, 0)
        with pytest.raises(RuntimeError, match=r"elsewhere_demo::picky: its kernel more_numba\.picky returned 3"):
            ops.picky(x, 3)
        with pytest.raises(RuntimeError, match=r"more_numba\.picky raised an exception"):
            ops.picky(x, 1)
        with pytest.raises(RuntimeError, match="checked: as it was told"):
            ops.checked_there(x, by=1.0, most=2, fails=True)
        with pytest.raises(ValueError, match="n is negative"):
            ops.told(x.astype(np.float32), None, "word", False, -1)
    with pytest.raises(errors.DispatchError, match=r"untyped: Numba does not compile more_numba\.untyped for float64"):
        ops.untyped(x)
    with pytest.raises(errors.DispatchError, match=r"not implemented for int64: its C kernel takes float32, float64"):
        ops.weighted(np.arange(3), np.arange(3), 2)
    with pytest.raises(errors.DispatchError, match=r"kernel for tvm-ffi: there is no file lib/none\.so in"):
        ops.missing(x)
    with pytest.raises(errors.DispatchError, match=r"kernel for tvm-ffi: there is no function more_tvm\.nothing"):
        ops.nameless(x)


def test_functions_of_tvm_ffi(ops: Any) -> None:
    for dtype in (np.float32, np.int64):
        x = np.arange(6).reshape(2, 3).astype(dtype)
        for given in (x, x[:, ::-1], opwright.from_numpy(x)):
            for other, more in ((None, 0), (x, x)):
                expected = np.asarray(given) + more + 8 + 3
                assert np.array_equal(ops.told(given, other, "word", True, 3), expected)
    written = np.arange(6.0).reshape(2, 3).T
    ops.checked_there(written, by=2.0, most=7, fails=False)
    assert written.tolist() == [[0, 6], [2, 7], [4, 7]]


def test_what_is_not_installed_is_named(ops: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    kernel = importlib.import_module("opwright.foreign_kernels.numba_kernels").NumbaFunction("kernels_numba", "axpy")
    made = kernel.kernel("demo::axpy", "elementwise", ("float32",), ("x: array", "y: array", "alpha: float"), ("",))
    with pytest.raises(errors.DispatchError, match="kernel for Numba: numba is not installed: `pip install numba`"):
        made([], np.ones(1), np.ones(1), 1.0)


def test_frameworks_are_given_each(project: Path, ops: Any) -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.ones(3)
    expected = ops.axpy_c(x, y, alpha=0.5)
    if importlib.util.find_spec("torch") is not None:
        torch = importlib.import_module("torch")
        importlib.import_module("elsewhere_demo_torch")
        for name in NAMES:
            first = torch.tensor(x, requires_grad=True)
            found = getattr(torch.ops.elsewhere_demo, name)(first, torch.tensor(y), alpha=0.5)
            found.sum().backward()
            assert first.grad.tolist() == [[0.5] * 3] * 2
            assert np.array_equal(found.detach().numpy(), expected)
    if importlib.util.find_spec("jax") is not None:
        jax, module = importlib.import_module("jax"), importlib.import_module("elsewhere_demo_jax")
        call = jax.jit(lambda *args: module.axpy_numba(*args, alpha=0.5))
        assert np.allclose(call(x.astype(np.float32), y.astype(np.float32)), expected)
    if importlib.util.find_spec("dask") is not None:
        arrays, module = importlib.import_module("dask.array"), importlib.import_module("elsewhere_demo_dask")
        found = module.axpy_tvm(arrays.from_array(x, chunks=1), arrays.from_array(y, chunks=1), alpha=0.5)
        assert np.array_equal(found.compute(scheduler="synchronous"), expected)


@pytest.mark.once  # the gate's processes choose their core
def test_the_gate_judges_them_and_finds_what_is_planted(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(project), *filter(None, [os.environ.get("PYTHONPATH")])]))
    planted = {
        ("elsewhere_demo::planted_numba", "writes-as-declared"),
        ("elsewhere_demo::planted_numba", "stays-in-bounds"),
        ("elsewhere_demo::planted_tvm", "layouts-do-not-matter"),
        ("elsewhere_demo::planted_tvm", "gradients-are-right"),
    }
    sound, wrong = {f"elsewhere_demo::axpy_{name}" for name in ("numba", "tvm")}, {name for name, _ in planted}
    asked = [*{name: None for _, name in sorted(planted)}, "leaves-no-trace"]
    report = gate(sorted(sound | wrong), properties=asked, modules=["elsewhere_demo"], jobs=2)
    found = {(each.operator.removesuffix(".default"), each.property) for each in report.findings}
    assert found >= planted
    assert {operator for operator, _ in found} == wrong
    held = [each.operator.removesuffix(".default") for each in report.verdicts if each.verdict == "held"]
    assert [held.count(name) for name in sorted(sound)] == [len(asked)] * len(sound)


def test_functions_of_python_that_tvm_ffi_has_are_given_objects(ops: Any) -> None:
    """Views of the compiled core would end the process where such a function reads them by `from_dlpack`."""
    for _ in range(3):
        assert ops.planted_tvm(np.ones((2, 3))).tolist() == [[3.0] * 3] * 2
