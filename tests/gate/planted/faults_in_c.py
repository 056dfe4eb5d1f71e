"""Kernels in C with one fault each, and sound ones, compiled when this is imported."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from planting import plant

import opwright

A = np.ndarray
_FOLDER = tempfile.TemporaryDirectory()
_LIBRARY = Path(_FOLDER.name, "kernels.so")
subprocess.run(["cc", "-O0", "-shared", "-fPIC", "-o", _LIBRARY, Path(__file__).with_name("kernels.c")], check=True)
_C = ctypes.CDLL(str(_LIBRARY))


def call(name: str, x: A, out: A, *more: A) -> A:
    if x.dtype != np.float64:
        raise TypeError(f"x must be float64, got {x.dtype}")
    given = np.ascontiguousarray(x)
    arrays = [given, *(np.ascontiguousarray(each) for each in more), out]
    count = more[0].size if more else x.size
    getattr(_C, name)(ctypes.c_int64(count), *[ctypes.c_void_p(each.ctypes.data) for each in arrays])
    return out


def fault(cause: str, kind: str = "files with C kernels", **options: Any) -> Any:
    return plant("in_c", cause, kind, **options)


def new(x: A) -> A:
    return np.empty(x.shape)


@fault("access-past-end")
def copy_blocks(x: A) -> A:
    return call("copy_blocks", x, new(x))


@fault("access-past-end")
def shift_left(x: A) -> A:
    return call("shift_left", x, new(x))


@fault("access-before-start")
def difference(x: A) -> A:
    return call("difference", x, new(x))


@fault("result-past-end")
def ends_with_one(x: A) -> A:
    return call("ends_with_one", x, new(x))


@fault("result-past-end")
def writes_blocks(x: A) -> A:
    return call("writes_blocks", x, new(x))


@fault("result-before-start")
def begins_with_one(x: A) -> A:
    return call("begins_with_one", x, new(x))


@fault("result-past-end")
def sums_backwards(x: A) -> A:
    return call("sums_backwards", x, new(x))


@fault("access-past-end", mutates={"out"}, schema="(Tensor x, Tensor(a!) out) -> ()", fake=None)
def ends_in_out(x: A, out: A) -> None:
    if out.shape != x.shape or out.dtype != np.float64 or not out.flags.carray:
        raise ValueError("out must be row-major, with the shape of x and the dtype float64")
    call("ends_with_one", x, out)


@fault("unchecked-index", fake=lambda x, index: opwright.empty(index.shape, dtype=x.dtype))
def gather(x: A, index: A) -> A:
    if index.dtype != np.int64:
        raise TypeError(f"index must be int64, got {index.dtype}")
    return call("gather", x, new(index), index)


@fault("undeclared-write")
def scale_in_place(x: A) -> A:
    return call("scale_in_place", x, new(x))


@fault("unwritten-element")
def most(x: A) -> A:
    return call("most", x, new(x))


@fault("computed-in-float32", fake=lambda x: opwright.empty(x.shape[1:], dtype=x.dtype))
def sum_floats(x: A) -> A:
    if x.ndim == 0:
        raise ValueError("x must have a dimension")
    out = np.zeros(x.shape[1:])
    for each in np.ndindex(x.shape[1:]):
        one = np.zeros(())
        call("sum_floats", x[(slice(None), *each)], one)
        out[each] = one
    return out


@fault("size-limit")
def rows_of_4(x: A) -> A:
    return call("rows_of_4", x, new(x))


@fault("", "sound", ref=lambda x: x * 2)
def twice(x: A) -> A:
    return call("twice", x, new(x))


@fault("", "sound", fake=lambda x: opwright.empty((), dtype=x.dtype), ref=np.sum)
def total(x: A) -> A:
    return call("total", x, np.zeros(()))


@fault("memory-grows")
def leaks(x: A) -> A:
    return call("leaks", x, new(x))


@fault("unchecked-index", fake=lambda x, at: opwright.empty((), dtype=x.dtype))
def element(x: A, at: int) -> A:
    if x.dtype != np.float64:
        raise TypeError(f"x must be float64, got {x.dtype}")
    given, out = np.ascontiguousarray(x), np.zeros(())
    pointers = [ctypes.c_void_p(given.ctypes.data), ctypes.c_int64(at), ctypes.c_void_p(out.ctypes.data)]
    _C.element(ctypes.c_int64(x.size), *pointers)
    return out
