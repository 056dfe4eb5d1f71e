"""Backends of few kernels that fall back to NumPy: how their arrays lie, and a handle on what is registered."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import opwright


class Held:
    """An array in memory of its own kind, with a base that views share."""

    def __init__(self, data: np.ndarray, base: np.ndarray | None = None) -> None:
        self.data = data
        self.base = data if base is None else base
        self.shape = data.shape
        self.dtype = data.dtype


def _strides(held: Held) -> tuple[int, ...]:
    return tuple(step // held.data.itemsize for step in held.data.strides)


def _address(held: Held) -> int:
    return int(held.data.__array_interface__["data"][0])


def _copied(array: np.ndarray) -> Held:
    """An array of its own with exactly these strides."""
    reach = sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)) if array.size else 0
    memory = np.empty(reach // array.itemsize + 1, array.dtype)
    laid = np.lib.stride_tricks.as_strided(memory, array.shape, array.strides)
    laid[...] = array
    return Held(laid, memory)


def _as_strided(self: Held, size: list[int], stride: list[int], storage_offset: int | None) -> Held:
    step = self.data.itemsize
    start = self.base[storage_offset or 0 :]
    return Held(np.lib.stride_tricks.as_strided(start, size, [each * step for each in stride]), self.base)


def _copy(self: Held, src: Held, non_blocking: bool) -> Held:
    self.data[...] = src.data
    return self


# How arrays of a backend lie: what it is registered with, and its kernels beyond those of the fallback.
KINDS: dict[str, tuple[dict[str, Any], dict[str, Callable[..., Any]]]] = {
    "copies": (
        {"from_numpy": lambda array: Held(np.array(array, order="C")), "to_numpy": lambda held: held.data.copy()},
        {"aten::copy_": _copy},
    ),
    "strides": (
        {
            "from_numpy": _copied, "to_numpy": lambda held: held.data.copy(), "strides": _strides,
            "data_ptr": _address,
        },
        {"aten::copy_": _copy, "aten::as_strided": _as_strided},
    ),
    "shared": (
        {"from_numpy": Held, "to_numpy": lambda held: held.data, "strides": _strides, "data_ptr": _address},
        {},
    ),
}  # fmt: skip


@contextmanager
def backend(kind: str, kernels: dict[str, Callable[..., Any]] | None = None, **options: bool) -> Iterator[Any]:
    """A backend on device "held" with these kernels, and the fallback for the rest."""
    described, own = KINDS[kind]
    made = opwright.register_backend("held", array_type=Held, **described)
    handles = [made.impl(name, kernel) for name, kernel in (own | (kernels or {})).items()]
    handles.append(made.fall_back_to_numpy(**options))
    try:
        yield made
    finally:
        for handle in handles:
            handle.remove()
        made.remove()


def _pointwise(function: Callable[..., np.ndarray]) -> Callable[..., Held]:
    return lambda *operands: Held(function(*[each.data if isinstance(each, Held) else each for each in operands]))


def _in_place(function: Callable[..., np.ndarray]) -> Callable[..., Held]:
    def kernel(self: Held, *rest: Any) -> Held:
        self.data[...] = function(self.data, *[each.data if isinstance(each, Held) else each for each in rest])
        return self

    return kernel


def _empty(size: list[int], dtype: Any, *options: Any) -> Held:
    return Held(np.zeros(math.prod(size), dtype or np.float32).reshape(size))


# The twenty kernels that somebody wrote first.
TWENTY: dict[str, Callable[..., Any]] = {
    "aten::empty.memory_format": _empty,
    "aten::copy_": _copy,
    "aten::fill_.Scalar": _in_place(lambda x, value: value),
    "aten::zero_": _in_place(lambda x: 0),
    "aten::clone": lambda self, memory_format: Held(self.data.copy()),
    "aten::add.Tensor": _pointwise(lambda x, y, alpha: x + np.asarray(alpha, x.dtype) * y),
    "aten::sub.Tensor": _pointwise(lambda x, y, alpha: x - np.asarray(alpha, x.dtype) * y),
    "aten::mul.Tensor": _pointwise(np.multiply),
    "aten::div.Tensor": _pointwise(np.divide),
    "aten::add_.Tensor": _in_place(lambda x, y, alpha: x + np.asarray(alpha, x.dtype) * y),
    "aten::mul_.Tensor": _in_place(np.multiply),
    "aten::neg": _pointwise(np.negative),
    "aten::exp": _pointwise(np.exp),
    "aten::log": _pointwise(np.log),
    "aten::sqrt": _pointwise(np.sqrt),
    "aten::maximum": _pointwise(np.maximum),
    "aten::relu": _pointwise(lambda x: np.maximum(x, 0)),
    "aten::mm": _pointwise(np.matmul),
    "aten::bmm": _pointwise(np.matmul),
    "aten::abs": _pointwise(np.abs),
}
