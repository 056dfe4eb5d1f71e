"""Arrays to call operators with: of every dtype and layout, with the values at which results go wrong."""

from __future__ import annotations

import functools
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

sys.path.append(str(Path(__file__).parents[1]))  # programs of this folder may be started by themselves
import seeds

Array = np.ndarray[Any, Any]

bfloat16 = np.dtype(ml_dtypes.bfloat16)
BOOL, UINT8, INT8, INT16, INT32, INT64 = (np.dtype(n) for n in ("bool", "uint8", "int8", "int16", "int32", "int64"))
FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 = (
    np.dtype(n) for n in ("float16", "float32", "float64", "complex64", "complex128")
)
INTEGERS = (UINT8, INT8, INT16, INT32, INT64)
REDUCED = (FLOAT16, bfloat16)
FLOATS = (*REDUCED, FLOAT32, FLOAT64)
COMPLEXES = (COMPLEX64, COMPLEX128)
DTYPES = (BOOL, *INTEGERS, *FLOATS, *COMPLEXES)


@dataclass(frozen=True)
class Sample:
    """The arguments of one call. Arrays become tensors of whichever library is called; dtypes become its dtypes."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [describe(arg) for arg in self.args] + [f"{name}={describe(arg)}" for name, arg in self.kwargs.items()]
        return f"({', '.join(parts)})"


def sample(*args: Any, **kwargs: Any) -> Sample:
    """A Sample of these arguments."""
    return Sample(args, kwargs)


def describe(value: Any) -> str:
    """An argument in a line: dtype, shape and strides of arrays."""
    if isinstance(value, np.ndarray):
        strides = [step // value.itemsize for step in value.strides]
        return f"{value.dtype}{list(value.shape)}/{strides}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(describe(each) for each in value)}]"
    return repr(value)


def make(shape: tuple[int, ...], dtype: np.dtype[Any], *, seed: int = 0, low: int = -5, high: int = 6) -> Array:
    """Small numbers, integers in integer dtypes; the same for the same arguments."""
    return _made(shape, dtype, seed, low, high).copy()


@functools.lru_cache(maxsize=4096)
def _made(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int, low: int, high: int) -> Array:
    rng = seeds.numpy_generator(seed, zlib.crc32(repr((shape, str(dtype), low, high)).encode()))
    if dtype == BOOL:
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if dtype in INTEGERS:
        return np.asarray(rng.integers(max(low, 0) if dtype == UINT8 else low, high, shape)).astype(dtype)
    values = np.asarray(rng.uniform(low, high, shape))
    if dtype in COMPLEXES:
        values = np.asarray(values + 1j * rng.uniform(low, high, shape))
    return values.astype(dtype)


def special(dtype: np.dtype[Any]) -> Array:
    """The values at which a dtype's arithmetic is odd: extremes of integers; NaN, infinities, zeros, halves, tiny and
    huge floats."""
    if dtype == BOOL:
        return np.array([True, False])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 3, info.max, info.max - 1, info.min, info.min + 1], dtype)
    reals = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 20.0, -90.0, np.inf, -np.inf, np.nan]
    if dtype in COMPLEXES:
        return np.array([complex(re, im) for re in (0.0, 1.0, -2.5) for im in (0.0, -1.0, 0.5)], dtype)
    return np.array(reals, np.float64).astype(dtype)


LAYOUTS = ("contiguous", "transposed", "permuted", "stepped", "expanded", "channels_last", "0-dim", "empty", "size 1")


def laid_out(layout: str, dtype: np.dtype[Any], *, seed: int = 0, low: int = -5, high: int = 6) -> Array:
    """An array of one of LAYOUTS."""

    def fresh(*shape: int) -> Array:
        return make(shape, dtype, seed=seed, low=low, high=high)

    match layout:
        case "contiguous":
            return fresh(2, 3, 4)
        case "transposed":
            return fresh(4, 3, 2).T
        case "permuted":
            return fresh(3, 4, 2).transpose(2, 0, 1)
        case "stepped":
            return fresh(2, 6, 8)[:, ::2, 1::2]
        case "expanded":
            return expanded(fresh(3, 1), (2, 3, 4))
        case "channels_last":
            return fresh(2, 4, 5, 3).transpose(0, 3, 1, 2)
        case "0-dim":
            return fresh()
        case "empty":
            return fresh(2, 0, 4)
        case "size 1":
            return fresh(3, 1, 4)[1:2]
    raise ValueError(layout)


def expanded(array: Array, shape: tuple[int, ...]) -> Array:
    """A writable view that repeats elements, as `expand` makes it."""
    view = np.broadcast_to(array, shape)
    return np.lib.stride_tricks.as_strided(array, shape, view.strides)


def arrays(dtypes: tuple[np.dtype[Any], ...] = DTYPES, **options: int) -> Iterator[Array]:
    """A contiguous array of each dtype, special values of each, and every layout in float32, int64 and bfloat16."""
    for dtype in dtypes:
        yield make((2, 3), dtype, **options)
    for dtype in (FLOAT32, INT64, bfloat16):
        if dtype in dtypes:
            for layout in LAYOUTS:
                yield laid_out(layout, dtype, **options)


# Pairs of layouts that broadcast: equal ones, mixed ones, repeated dimensions, 0-dim ones.
PAIRS: tuple[tuple[str, str], ...] = (
    *((layout, layout) for layout in LAYOUTS),
    ("contiguous", "transposed"), ("transposed", "contiguous"), ("permuted", "stepped"), ("expanded", "permuted"),
    ("contiguous", "0-dim"), ("0-dim", "transposed"), ("channels_last", "0-dim"), ("stepped", "expanded"),
)  # fmt: skip


def pairs(dtype: np.dtype[Any], **options: int) -> Iterator[tuple[Array, Array]]:
    """Two arrays that broadcast, in many layouts."""
    for first, second in PAIRS:
        yield laid_out(first, dtype, **options), laid_out(second, dtype, seed=1, **options)
    wide = make((2, 1, 4), dtype, **options)
    yield wide, make((3, 1), dtype, seed=1, **options)
    yield make((3, 4), dtype, **options).T, make((3,), dtype, seed=1, **options)
    yield make((2, 3), dtype, **options), make((2, 4), dtype, seed=1, **options)  # these do not broadcast
