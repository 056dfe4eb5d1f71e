"""The calls whose instructions are counted: a program for callgrind, which `instructions.py` starts.

Callgrind writes its counts down whenever the program calls `sched_yield`. Each call is made `FEW` times and then `MANY`
times between such marks, so that the work at the start of a loop is the same in both and drops out. The program prints
the build that it ran with, then the names of the calls.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

import opwright
from opwright.fake import FakeTensorMode
from opwright.library import custom_op

Call = Callable[[], object]
FEW, MANY = 20, 120
WARM = 100  # caches are filled, and Python has specialised its bytecode
NOTHING, PEER = "nothing", "np.add"  # an empty call, which is subtracted from the others, and the peer
HELD: list[object] = []  # blocks that no result may get


def calls() -> Iterator[tuple[str, Call]]:
    """Yield each counted call by its name, first an empty one and the peer's."""
    a, b = aligned_ones(), aligned_ones()
    yield NOTHING, lambda: None
    yield PEER, lambda: np.add(a, b)
    x, y = opwright.from_numpy(a), opwright.from_numpy(b)
    matrix = opwright.ones(4, 4)
    leaf = opwright.ones(4, requires_grad=True)
    yield "add", lambda: opwright.add(x, y)
    yield "add of a row, with a plan", lambda: opwright.add(matrix, x)
    yield "add, recorded", lambda: opwright.add(leaf, y)
    yield "10 adds and backward", lambda: chain(leaf, y)
    custom = custom_op(
        "counted::same", lambda x, scale: x.clone(), mutates_args=(), schema="(Tensor x, float scale) -> Tensor"
    )
    yield "custom operator", lambda: custom(x, 1.0)
    yield "C kernel: softmax", lambda: matrix.softmax(-1)
    yield "add of plain arrays", lambda: opwright.add(a, b)
    mapped = opwright.vmap(lambda row: row * 2)
    yield "vmap of mul", lambda: mapped(matrix)
    fake = FakeTensorMode().from_tensor(matrix)
    yield "fake add", lambda: opwright.add(fake, fake)
    yield "view: t()", lambda: matrix.t()
    zero = opwright.from_numpy(aligned_ones() - 1)
    yield "in-place add", lambda: x.add_(zero)
    yield "x[0]", lambda: matrix[0]
    yield "x[0] = 1.0", lambda: matrix.__setitem__(0, 1.0)


def chain(leaf: opwright.Tensor, y: opwright.Tensor) -> None:
    z = leaf
    for _ in range(10):
        z = opwright.add(z, y)
    z.sum().backward()


def aligned_ones() -> np.ndarray[Any, Any]:
    """Return a float32 array of 4 ones that begins a cache line: NumPy's loops count differently elsewhere."""
    whole = np.ones(32, np.float32)
    start = -whole.ctypes.data % 64 // 4
    return whole[start : start + 4]


def free_aligned_block() -> None:
    """Empty NumPy's cache of 16-byte blocks, and put one into it that begins a cache line, for the next result."""
    kept = [np.empty(4, np.float32) for _ in range(256)]
    kept.sort(key=lambda each: each.ctypes.data % 64 != 0)
    HELD.extend(kept[1:])


def run(call: Call, count: int) -> None:
    for _ in repeat(None, count):
        call()


def build() -> str:
    """Return the versions that counts depend on: Python, NumPy, compilers, libc, the processor that callgrind shows."""
    parts = [f"CPython {platform.python_version()} ({platform.python_compiler()})", f"NumPy {np.__version__}"]
    core = sys.modules.get("opwright_core._fast")
    text = Path(str(core.__file__)).read_bytes() if core else b""
    made = re.search(rb"(GCC|clang)[ :][^\0]*?(\d+\.\d+\.\d+)", text)
    compiler = b" ".join(made.groups()).decode() if made else "another compiler"
    parts.append(f"core by {compiler}" if core else "no core")
    features = np._core._multiarray_umath.__cpu_features__
    parts += [
        " ".join(platform.libc_ver()),
        f"{platform.machine()} {'with' if features.get('AVX2') else 'without'} AVX2",
    ]
    return ", ".join(parts)


def main() -> None:
    found = list(calls())
    print(json.dumps([build(), [name for name, _ in found]]), flush=True)
    gc.disable()
    for _, call in found:
        run(call, WARM)
    for _, call in found:
        free_aligned_block()
        for count in (1, FEW, MANY):
            run(call, count)
            os.sched_yield()


if __name__ == "__main__":
    main()
