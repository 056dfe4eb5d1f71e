"""Expressions in C: five operations at once against NumPy and against a loop by hand, arrays that lie otherwise."""

from __future__ import annotations

import ctypes
import importlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .measure import Figure, ratio

SCHEMA = """
- func: measured::fused(Tensor a, Tensor b, Tensor c, Tensor d) -> Tensor
  kernel: maximum((a - b) * c + d * a, 0)
- func: measured::swish(Tensor x) -> Tensor
  kernel: x * sigmoid(x)
- func: measured::gelu(Tensor x) -> Tensor
  kernel: 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
"""
BY_HAND = """
#include <stdint.h>
void fused(int64_t n, const float *restrict a, const float *restrict b, const float *restrict c,
           const float *restrict d, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        const float t = (a[i] - b[i]) * c[i] + d[i] * a[i];
        out[i] = t > 0 || t != t ? t : 0;
    }
}
"""
COUNT = 10_000_000
LONG: dict[str, Any] = {"rounds": 1, "repeats": 15}
SHORT: dict[str, Any] = {"rounds": 20, "repeats": 51}


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        native, by_hand = built(Path(folder))
        yield from fused(native, by_hand)
        yield from otherwise(native)
        yield from functions(native)


def built(folder: Path) -> tuple[ModuleType, Any]:
    """The loops of these expressions, and the one by hand, which is compiled with the same flags."""
    (folder / "ops.yaml").write_text(SCHEMA)
    (folder / "hand.c").write_text(BY_HAND)
    settings = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "measured_ops"\n'
    (folder / "pyproject.toml").write_text(settings)
    command = [sys.executable, "-m", "opwright_codegen.cli", "build"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cc", "-std=c11", "-O3", "-fPIC", "-shared", "hand.c", "-o", "hand.so"], cwd=folder, check=True)
    sys.path.insert(0, str(folder))
    return importlib.import_module("measured_ops.native"), ctypes.CDLL(str(folder / "hand.so"))


def fused(native: ModuleType, by_hand: Any) -> Iterator[Figure]:
    rng = np.random.default_rng(0)
    a, b, c, d = (rng.standard_normal(COUNT, np.float32) for _ in range(4))
    out, fast = np.empty_like(a), native.fused.fast
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in (a, b, c, d, out)]

    def in_numpy() -> Any:
        return np.maximum((a - b) * c + d * a, 0)

    yield ratio("five operations, 10⁷ floats, against NumPy", lambda: fast(a, b, c, d, None), in_numpy, 0.5, **LONG)
    yield ratio("the same with `out=`", lambda: fast(a, b, c, d, out), in_numpy, 0.35, **LONG)
    hand = by_hand.fused
    count = ctypes.c_int64(COUNT)
    yield ratio(
        "the same against a loop by hand", lambda: fast(a, b, c, d, out), lambda: hand(count, *pointers), 1.1, **LONG
    )


def otherwise(native: ModuleType) -> Iterator[Figure]:
    """Arrays of 3,200 × 3,200 that lie otherwise, against contiguous ones."""
    fast, side = native.fused.fast, 3200
    rng = np.random.default_rng(1)
    padded = [rng.standard_normal((side, side + 8), np.float32)[:, 4:-4] for _ in range(4)]
    a, b, c, d = (np.ascontiguousarray(each) for each in padded)
    out, row, turned = np.empty((side, side), np.float32), a[0], [each.T for each in (a, b, c, d)]
    wide = rng.standard_normal((side, 2 * side), np.float32)[:, ::2]

    def contiguous() -> Any:
        return fast(a, b, c, d, out)

    cases: list[tuple[str, Callable[[], Any], float | None]] = [
        ("rows with gaps", lambda: fast(*padded, out), 1.4),
        ("transposed", lambda: fast(*turned, out.T), 1.4),
        ("a row and a column broadcast", lambda: fast(a, row, row[:, None], d, out), 1.4),
        ("backwards", lambda: fast(a[:, ::-1], b, c[::-1], d, out), 1.4),
        ("every other element of one", lambda: fast(wide, b, c, d, out), 1.4),
    ]
    for work, call, budget in cases:
        yield ratio(f"{work}, against contiguous", call, contiguous, budget, **LONG)


def functions(native: ModuleType) -> Iterator[Figure]:
    for dtype in ("float32", "float64"):
        x = np.random.default_rng(2).standard_normal(100_000).astype(dtype)
        swish, gelu = partial(native.swish.fast, x, None), partial(native.gelu.fast, x, None)
        yield ratio(f"x * sigmoid(x), 10⁵ of {dtype}, against NumPy", swish, partial(swish_in_numpy, x), 1, **SHORT)
        yield ratio(f"gelu by tanh, 10⁵ of {dtype}, against NumPy", gelu, partial(gelu_in_numpy, x), 1, **SHORT)


def swish_in_numpy(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def gelu_in_numpy(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
