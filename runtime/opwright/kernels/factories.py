"""New arrays of given values. `dtype` None means the default dtype, or int64 where the values are integers, as each says."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from types import ModuleType
from typing import Any

from opwright.dtypes import as_dtype, checked_scalar, get_default_dtype, int64, to_complex

Array = Any
Number = complex


def full_dtype(fill_value: Number, dtype: Any = None) -> Any:
    """The dtype of `full` without one: that of the value, floats in the default dtype."""
    if dtype is not None:
        return as_dtype(dtype)
    if isinstance(fill_value, complex):
        return to_complex(get_default_dtype())
    return get_default_dtype() if isinstance(fill_value, float) else as_dtype(type(fill_value))


def empty(xp: ModuleType, size: Sequence[int], dtype: Any = None) -> Array:
    """An array with arbitrary contents."""
    return xp.empty(checked_size(size), dtype or get_default_dtype())


def zeros(xp: ModuleType, size: Sequence[int], dtype: Any = None) -> Array:
    """An array of zeros."""
    return xp.zeros(checked_size(size), dtype or get_default_dtype())


def ones(xp: ModuleType, size: Sequence[int], dtype: Any = None) -> Array:
    """An array of ones."""
    return xp.ones(checked_size(size), dtype or get_default_dtype())


def full(xp: ModuleType, size: Sequence[int], fill_value: Number, dtype: Any = None) -> Array:
    """An array of one value. Raises RuntimeError where the dtype cannot hold it."""
    kind = full_dtype(fill_value, dtype)
    return xp.full(checked_size(size), checked_scalar(fill_value, kind), kind)


def checked_size(size: Sequence[int]) -> tuple[int, ...]:
    """The size as a tuple. Raises RuntimeError for a negative dimension."""
    for each in size:
        if each < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {each}: {list(size)}")
    return tuple(size)


def range_dtype(start: Number, end: Number, step: Number, dtype: Any = None) -> Any:
    """The dtype of `arange` without one: int64 for integers, else the default dtype."""
    if dtype is not None:
        return as_dtype(dtype)
    return int64 if all(isinstance(each, int) for each in (start, end, step)) else get_default_dtype()


def range_length(start: Number, end: Number, step: Number) -> int:
    """How many numbers `arange` gives. Raises RuntimeError for a zero step, one that leads away from `end`, or numbers that aren't real."""
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise RuntimeError("arange: expected real numbers for start, end and step")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (abs(start) < float("inf") and abs(end) < float("inf")):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end < start) if step > 0 else (end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        return -((start - end) // step)
    return ceil((end - start) / step)


def arange(xp: ModuleType, start: Number, end: Number, step: Number, dtype: Any = None) -> Array:
    """start, start + step, … below `end`."""
    kind = range_dtype(start, end, step, dtype)
    length = range_length(start, end, step)
    if kind.kind in "iu":
        return xp.arange(length, dtype=int64) * int(step.real) + int(start.real)
    return (xp.arange(length, dtype="float64") * step + start).astype(kind)


def linspace(xp: ModuleType, start: Number, end: Number, steps: int, dtype: Any = None) -> Array:
    """`steps` numbers from `start` to `end`, equally far apart; the second half counts down from `end`, so that both ends are exact."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = linspace_dtype(start, end, dtype)
    compute = "complex128" if kind.kind == "c" else "float64"
    first, last = (int(start.real), int(end.real)) if kind.kind in "iu" else (start, end)
    if steps == 1:
        return xp.full((1,), first, kind)
    step = (last - first) / max(steps - 1, 1)
    counted = xp.arange(steps, dtype=compute)
    half = steps // 2
    result = xp.where(counted.real < half, first + step * counted, last - step * (steps - 1 - counted))
    return result.astype(kind)


def linspace_dtype(start: Number, end: Number, dtype: Any = None) -> Any:
    """The dtype of `linspace` without one: the default dtype, complex where an end is."""
    if dtype is not None:
        return as_dtype(dtype)
    return to_complex(get_default_dtype()) if isinstance(start, complex) or isinstance(end, complex) else get_default_dtype()


def eye(xp: ModuleType, n: int, m: int, dtype: Any = None) -> Array:
    """Ones on the diagonal of an n × m matrix of zeros. Raises RuntimeError for a negative size."""
    for name, each in (("n", n), ("m", m)):
        if each < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {each}")
    return xp.eye(n, m, dtype=dtype or get_default_dtype())
