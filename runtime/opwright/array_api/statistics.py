"""Reductions, running ones too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import opwright
from opwright.array_api.promotion import isdtype, promoted
from opwright_core.arrays.dtypes import DType
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "all", "any", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std",
    "sum", "var", "wide_dtype",
]  # fmt: skip

Axis: TypeAlias = int | Sequence[int] | None


def _reduced(x: Tensor, axis: Axis, keepdims: bool) -> tuple[Tensor, tuple[int, ...], bool]:
    """Return an array and its axes to reduce, never none: that is what PyTorch calls all. An axis of size 1, to be
    reduced alone, stands for none."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return (x, axes, keepdims) if axes else (opwright.unsqueeze(x, -1), (-1,), False)


def wide_dtype(x: Tensor, dtype: DType | None) -> DType:
    """Return the dtype of a sum: the one asked for, else the widest integer of the sign of `x`, else that of `x`."""
    if dtype is not None:
        return dtype
    if isdtype(x.dtype, "unsigned integer"):
        return opwright.uint64
    return opwright.int64 if isdtype(x.dtype, ("bool", "signed integer")) else x.dtype


def sum(x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """Return the sum over `axis`, integers as 64-bit ones of their sign."""
    values, axes, kept = _reduced(x, axis, keepdims)
    return opwright.sum(values, axes, kept, dtype=wide_dtype(x, dtype))


def prod(x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """Return the product over `axis`, integers as 64-bit ones of their sign."""
    values, axes, kept = _reduced(x, axis, keepdims)
    places = sorted((range(values.ndim)[each] for each in axes), reverse=True)
    for place in places:
        values = opwright.prod(values, place, kept, dtype=wide_dtype(x, dtype))
    return values


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the largest element over `axis`, NaN where there is one."""
    return opwright.amax(*_reduced(x, axis, keepdims))


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the smallest element over `axis`, NaN where there is one."""
    return opwright.amin(*_reduced(x, axis, keepdims))


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the mean over `axis`."""
    return opwright.mean(*_reduced(x, axis, keepdims))


def var(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the variance over `axis`: the sum of squares is divided by the number of elements less `correction`."""
    values, axes, kept = _reduced(x, axis, keepdims)
    return opwright.var(values, axes, correction=correction, keepdim=kept)


def std(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the square root of the variance (`var`)."""
    values, axes, kept = _reduced(x, axis, keepdims)
    return opwright.std(values, axes, correction=correction, keepdim=kept)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether no element over `axis` is zero."""
    return opwright.all(*_reduced(x != 0, axis, keepdims))


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether an element over `axis` is not zero."""
    return opwright.any(*_reduced(x != 0, axis, keepdims))


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return how many elements over `axis` are not zero."""
    return opwright.sum(*_reduced(x != 0, axis, keepdims))


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """Return the running sum along `axis`, with 0 before the first element where `include_initial`. A vector needs no
    axis. Raises ValueError where one is needed."""
    place = _only_axis("cumulative_sum", x, axis)
    found = opwright.cumsum(x, place, dtype=wide_dtype(x, dtype))
    return _with_initial(found, place, 0) if include_initial else found


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """Return the running product along `axis`, with 1 before the first element where `include_initial`. A vector needs
    no axis. Raises ValueError where one is needed."""
    place = _only_axis("cumulative_prod", x, axis)
    found = opwright.cumprod(x, place, dtype=wide_dtype(x, dtype))
    return _with_initial(found, place, 1) if include_initial else found


def _only_axis(name: str, x: Tensor, axis: int | None) -> int:
    if axis is None and x.ndim != 1:
        raise ValueError(f"{name}: an array of {x.ndim} dimensions needs an axis")
    return 0 if axis is None else axis


def _with_initial(found: Tensor, axis: int, initial: int) -> Tensor:
    sizes = list(found.shape)
    sizes[axis] = 1
    return opwright.cat([opwright.full(sizes, initial, dtype=found.dtype, device=found.device), found], axis)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Return the differences of neighbours along `axis`, `n` times over, of `x` with what is put before and after."""
    if n == 0:
        return x.clone()
    parts = promoted(*(each for each in (prepend, x, append) if each is not None))
    joined = opwright.cat(list(parts), axis) if len(parts) > 1 else parts[0]
    return opwright.diff(joined, n, axis)
