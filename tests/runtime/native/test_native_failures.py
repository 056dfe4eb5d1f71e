"""C kernels that fail: by a number, by a message of any thread, by an error of Python; libraries that never load."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from native_projects import QUICK, build

import opwright
from opwright_codegen.building import library
from opwright_codegen.cli import main

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

SETTINGS = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "failing_ops"\nnative = ["csrc"]\n'
OPERATORS = """
- func: failing::f(Tensor x, int how) -> Tensor
  meta: like(x)
  dispatch:
    CPU: native:f
  convention: elementwise
  dtypes: float64
"""
KERNEL = """
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <pthread.h>
#include "failing_kernels.h"

static void *said_elsewhere(void *status)
{
    *(int *)status = failing_fail("said by another thread");
    return NULL;
}

int f_f64(int64_t n, const double *x, int64_t how, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i];
    int status = 0;
    pthread_t thread;
    switch (how) {
    case 1:
    case 2:
        PyErr_SetString(PyExc_KeyError, "of Python");
        return how - 1;
    case 3:
        return 7;
    case 4:
        return failing_fail("said by its own");
    case 5:
        pthread_create(&thread, NULL, said_elsewhere, &status);
        pthread_join(thread, NULL);
    }
    return status;
}
"""


def write(folder: Path, code: str) -> None:
    (folder / "csrc").mkdir()
    (folder / "pyproject.toml").write_text(SETTINGS)
    (folder / "ops.yaml").write_text(OPERATORS)
    (folder / "csrc" / "f.c").write_text(code)


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("failing")
    include = importlib.import_module("sysconfig").get_paths()["include"]
    write(folder, KERNEL)
    build(folder, CC=QUICK, CFLAGS=f"-I{include} -pthread", LDFLAGS="-pthread")
    sys.path.insert(0, str(folder))
    yield importlib.import_module("failing_ops")
    sys.path.remove(str(folder))


X = np.arange(3.0)


@pytest.mark.parametrize("how", [1, 2])
@pytest.mark.parametrize("wrap", [np.asarray, opwright.from_numpy])
def test_an_error_of_python_stands(failing: ModuleType, how: int, wrap: object) -> None:
    with pytest.raises(KeyError, match="of Python"):
        failing.ops.f(wrap(X), how)  # type: ignore[operator]
    assert failing.ops.f(X, 0).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("how", "said"),
    [(3, "f: the C kernel failed with status 7"), (4, "said by its own"), (5, "said by another thread")],
)
def test_messages(failing: ModuleType, how: int, said: str) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match=said):
            failing.ops.f(X, how)
        with pytest.raises(RuntimeError, match="said by its own"):
            failing.ops.f(X, 4)


@pytest.mark.once  # the command line
def test_a_constructor_that_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = "__attribute__((constructor)) static void loop(void)\n{\n    for (volatile int i = 0;; i++)\n        ;\n}\n"
    write(
        tmp_path,
        KERNEL.replace("#define Py_LIMITED_API 0x030B0000\n#include <Python.h>", "").replace(
            'PyErr_SetString(PyExc_KeyError, "of Python");', ""
        )
        + loop,
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(library, "_LOADING_SECONDS", 1.0)
    assert main(["build"]) == 1
    said = capsys.readouterr().err
    assert "was not loaded within 1 s: a function that runs when it is loaded" in said
    assert not list((tmp_path / "failing_ops" / "native").glob("*.so"))
