"""C kernels as functions of a tvm-ffi module: values, and what the functions refuse."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copying import copy_example

from opwright_codegen.cli import main

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
if importlib.util.find_spec("tvm_ffi") is None:
    pytest.skip("needs tvm-ffi: pip install --group elsewhere", allow_module_level=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere") / "project"
    copy_example("elsewhere", folder)
    with contextlib.chdir(folder):
        assert main(["build"]) == 0
    return folder


@contextlib.contextmanager
def without_torch() -> Iterator[None]:
    """Have tvm-ffi do without PyTorch, whose import takes seconds, if nothing has imported either."""
    if "torch" in sys.modules or "tvm_ffi" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]


def test_the_module_refuses_what_its_functions_do_not_take(project: Path) -> None:
    with without_torch():
        tvm_ffi = importlib.import_module("tvm_ffi")
    module = tvm_ffi.load_module(project / "elsewhere_demo" / "native" / "_elsewhere_demo_tvm_ffi.abi3.so")
    x, y, out = np.arange(6.0).reshape(2, 3), np.ones((2, 3)), np.empty((2, 3))
    module.axpy(x, y, 2, out)
    assert np.array_equal(out, 2 * x + y)
    single = [each.astype(np.float32) for each in (x, y, out)]
    module.axpy(single[0], single[1], 0.5, single[2])
    assert np.array_equal(single[2], 0.5 * x + y)
    refused: list[tuple[tuple[Any, ...], str]] = [
        ((x, y, 2), "takes 4 arguments: x, y, alpha, out"),
        ((x, y, "a", out), "takes 'alpha' as a number"),
        ((1, y, 2, out), "takes 'x' as a tensor on the CPU"),
        ((x, y.astype(np.float32), 2, out), "takes 'y' of the same dtype"),
        ((x.astype(int), y.astype(int), 2, out.astype(int)), "takes 'x' of float32, float64"),
        ((x, y[:1], 2, out), "takes 'y' of the shape of 'x'"),
        ((x.T.copy().T, y, 2, out), "takes 'x' row by row, without gaps"),
        ((x, y, 2, x), "takes 'out' in memory of its own"),
    ]
    for given, said in refused:
        with pytest.raises(TypeError, match=f"elsewhere_demo::axpy_c {said}"):
            module.axpy(*given)
