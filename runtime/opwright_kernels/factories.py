"""New arrays of given values. The rules of the operators say shape and dtype, and have checked the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from opwright_core import rules
from opwright_core.arrays.dtypes import (
    FLOATING,
    INEXACT,
    float32,
    float64,
    get_default_dtype,
    int64,
    wrapped_scalar,
)
from opwright_core.arrays.layouts import span
from opwright_core.arrays.promotion import scalar_dtype
from opwright_core.arrays.storage import strided_view
from opwright_core.core import compiled

Array = Any
Number = complex

_END = 2**63  # of int64


def empty(
    xp: ModuleType, size: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Array:
    """Return an array with arbitrary contents."""
    if memory_format is None:
        return xp.empty(tuple(size), dtype or get_default_dtype())
    return empty_strided(
        xp, size, rules.empty(size, memory_format=memory_format).strides, dtype, layout, device, pin_memory
    )


def empty_strided(
    xp: ModuleType, size: Sequence[int], stride: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Return an array with arbitrary contents and these strides, in elements."""
    shape, strides = tuple(size), tuple(stride)
    array = xp.empty(shape, dtype or get_default_dtype())
    if array.strides == tuple([step * array.itemsize for step in strides]):
        return array
    return strided_view(xp.empty(max(span(shape, strides)[1] + 1, 1), array.dtype), shape, strides)


def zeros(xp: ModuleType, size: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Array:
    """Return an array of zeros."""
    return xp.zeros(tuple(size), dtype or get_default_dtype())


def ones(xp: ModuleType, size: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Array:
    """Return an array of ones."""
    return filled(xp, tuple(size), 1, dtype or get_default_dtype())


def full(
    xp: ModuleType, size: Sequence[int], fill_value: Number, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Return an array of one value."""
    return filled(xp, tuple(size), fill_value, dtype or scalar_dtype(fill_value))


@compiled
def filled(xp: ModuleType, shape: tuple[int, ...], value: Number, dtype: Any) -> Array:
    """Return an array of one value, a number that the dtype holds once it is wrapped."""
    return xp.full(shape, wrapped_scalar(value, dtype), dtype)


def arange(
    xp: ModuleType, start: float, end: float, step: float, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Return start, start + step, … below `end`."""
    if dtype is None and type(start) is type(end) is type(step) is int and step == 1 and -_END <= start <= end < _END:
        return xp.arange(start, end, dtype=int64)
    plan = rules.arange(start, end, step, dtype=dtype)
    (length,) = plan.shape
    if plan.dtype not in FLOATING:
        return _spaced(xp.arange(length, dtype=int64), int(start), int(step))
    return _spaced(xp.arange(length, dtype="float64"), start, step).astype(plan.dtype, copy=False)


def _spaced(counted: Array, start: float, step: float) -> Array:
    if step != 1:
        counted *= step
    if start != 0:
        counted += start
    return counted


def linspace(
    xp: ModuleType, start: Number, end: Number, steps: int, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Return `steps` numbers from `start` to `end`, equally far apart; the second half counts down from `end`, so that
    both ends are exact."""
    if _is_plain(start, end, steps) and (dtype or get_default_dtype()) in (float32, float64):
        return evenly_spaced(xp, float(start.real), float(end.real), steps, dtype or get_default_dtype())
    dtype = rules.linspace(start, end, steps, dtype=dtype).dtype
    return _between(xp, start, end, steps, dtype).astype(dtype)


def _is_plain(start: Number, end: Number, steps: int) -> bool:
    """Whether there are numbers of which a float holds each, and at least two places between them."""
    ends = type(start) in (int, float) and type(end) in (int, float)
    return ends and type(steps) is int and steps > 1 and abs(start) < 2**52 and abs(end) < 2**52


@compiled
def evenly_spaced(xp: ModuleType, start: float, end: float, steps: int, dtype: Any) -> Array:
    """Return `steps` numbers of a floating-point dtype, two or more, from `start` to `end`."""
    return _between(xp, start, end, steps, dtype).astype(dtype)


def logspace(
    xp: ModuleType,
    start: Number,
    end: Number,
    steps: int,
    base: float,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
) -> Array:
    """Return `base` to the powers from `start` to `end`, equally far apart."""
    if _is_plain(start, end, steps) and (dtype or get_default_dtype()) in (float32, float64):
        exponents = evenly_spaced(xp, float(start.real), float(end.real), steps, float64)
        return xp.power(base, exponents).astype(dtype or get_default_dtype(), copy=False)
    dtype = rules.linspace(start, end, steps, dtype=dtype).dtype
    return xp.power(base, _between(xp, start, end, steps, dtype)).astype(dtype)


def _between(xp: ModuleType, start: Number, end: Number, steps: int, dtype: Any) -> Array:
    if dtype not in INEXACT:
        start, end = int(start.real), int(end.real)
    if steps < 2:
        return xp.full((steps,), start)
    step = (end - start) / max(steps - 1, 1)
    counted = xp.arange(steps, dtype="float64")
    return xp.where(counted < steps // 2, start + step * counted, end - step * (steps - 1 - counted))


def eye(xp: ModuleType, n: int, m: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Array:
    """Return an n × m matrix with ones on the diagonal, zeros elsewhere."""
    return xp.eye(n, m, dtype=dtype or get_default_dtype())
