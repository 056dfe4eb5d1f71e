"""What the core gives to the shims of packages: a table of functions in a capsule, with its size and version."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from native_projects import QUICK, build

from opwright_core.core import fast

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
SCHEMA = """- func: table_demo::doubled(Tensor self) -> Tensor
  kernel: self * 2
  dtypes: float64
"""
# Python 3.15 declares a slot to the limited API of 3.11, and not the values of the slot: on all others, this does.
SLOT = "" if sys.version_info >= (3, 15) or "t" in sys.abiflags else "-DPy_mod_gil=4"
SETTINGS = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "table_demo"\n'


class Table(ctypes.Structure):
    """The table, with a function more than there is today."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("version", ctypes.c_int),
        ("new_array", ctypes.c_void_p),
        ("run_ranges", ctypes.c_void_p),
        ("later", ctypes.c_void_p),
    )


SIZE = Table.later.offset
MAKER = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_ssize_t))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[ModuleType]:
    """A library that was given nothing yet."""
    (tmp_path / "ops.yaml").write_text(SCHEMA)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    build(tmp_path, CC=QUICK, CFLAGS=f"-Wall -Wextra -Werror {SLOT}")
    sys.path.insert(0, str(tmp_path))
    importlib.import_module("table_demo")
    (file,) = (tmp_path / "table_demo" / "native").glob("*.so")
    loader = importlib.machinery.ExtensionFileLoader("table_demo._table_demo", str(file))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    yield module
    sys.path.remove(str(tmp_path))


TABLES: list[Table] = []  # a table stays for ever


def capsule(table: Table, name: bytes = b"opwright.Runtime") -> Any:
    TABLES.append(table)
    made = ctypes.pythonapi.PyCapsule_New
    made.restype, made.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return made(ctypes.addressof(table), name, None)


def test_a_shim_uses_the_functions_of_a_table_that_it_knows(library: ModuleType) -> None:
    made = []

    @MAKER
    def new_array(dtype: int, dims: int, shape: Any) -> Any:
        made.append(np.empty(shape[:dims], np.dtype("f8")))
        assert dtype == np.dtype("f8").num
        return made[-1]

    def call() -> Any:
        return library.doubled(np.ones((2, 3)), None)

    pointer = ctypes.cast(new_array, ctypes.c_void_p)
    call()
    for size, version in ((SIZE, 2), (SIZE - 1, 1)):  # another interface; one that has less
        library.take_runtime(capsule(Table(size, version, None, None, None)))
        assert call().tolist() == [[2.0] * 3] * 2 and made == []
    with pytest.raises(ValueError, match="PyCapsule"):
        library.take_runtime(capsule(Table(SIZE, 1, pointer, None, None), b"opwright.Others"))
    with pytest.raises(ValueError, match="PyCapsule"):
        library.take_runtime(None)
    library.take_runtime(capsule(Table(ctypes.sizeof(Table), 1, pointer, None, None)))  # one that has more
    assert call() is made[0] and made[0].tolist() == [[2.0] * 3] * 2


@pytest.mark.skipif(fast is None, reason="the table is that of the compiled core")
def test_the_core_has_the_table_that_shims_know(library: ModuleType) -> None:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = Table.from_address(get(fast.runtime, b"opwright.Runtime"))
    assert (table.size, table.version) == (SIZE, 1)
    library.take_runtime(fast.runtime)
    for shape in ((), (0, 3), (2, 3), (1000, 3)):
        found = library.doubled(np.full(shape, 3.0), None)
        assert np.array_equal(found, np.full(shape, 6.0)) and found.flags.carray and found.flags.owndata
