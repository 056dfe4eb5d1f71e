"""New arrays, and arrays of what other libraries hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import opwright
from opwright.creation.construction import asarray as as_array
from opwright.creation.construction import from_dlpack as load_dlpack
from opwright.methods.functional import meshgrid as grid_of
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import DType
from opwright_core.arrays.promotion import scalar_dtype
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
    "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip

Place: TypeAlias = Device | str | None
Number: TypeAlias = bool | int | float | complex
Sizes: TypeAlias = int | Sequence[int]


def asarray(obj: Any, /, *, dtype: DType | None = None, device: Place = None, copy: bool | None = None) -> Tensor:
    """Return an array of a number, nested sequences, a buffer, an array or what speaks DLPack; over its memory where
    that is possible and `copy` is not True. Gradients go through it.

    Raises ValueError for `copy=False` where only a copy can be had.
    """
    return as_array(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x: Any, /, *, device: Place = None, copy: bool | None = None) -> Tensor:
    """Return an array over memory of any DLPack producer; copied for `copy=True` or another `device`."""
    return load_dlpack(x, device=device, copy=copy)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Place = None,
) -> Tensor:
    """Return the numbers from `start` to before `stop`; from 0 to before `start` where that is the only one. Nothing
    where `step` leads away from `stop`."""
    first, last = (0, start) if stop is None else (start, stop)
    if dtype is None:
        is_integral = all(isinstance(each, int) for each in (first, last, step))
        dtype = opwright.int64 if is_integral else opwright.get_default_dtype()
    return opwright.arange(first, first if (last - first) * step < 0 else last, step, dtype=dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Place = None,
    endpoint: bool = True,
) -> Tensor:
    """Return `num` numbers at equal steps from `start` to `stop`, or to one step before it without `endpoint`."""
    if endpoint or num == 0:
        return opwright.linspace(start, stop, num, dtype=dtype, device=device)
    return opwright.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType | None = None, device: Place = None
) -> Tensor:
    """Return a matrix with ones on the diagonal `k`, zeros elsewhere."""
    rows = opwright.arange(n_rows, device=device)
    columns = opwright.arange(n_rows if n_cols is None else n_cols, device=device)
    return (columns - rows[:, None] == k).to(opwright.get_default_dtype() if dtype is None else dtype)


def empty(shape: Sizes, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array whose elements are anything."""
    return opwright.empty(shape, dtype=dtype, device=device)


def zeros(shape: Sizes, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array of zeros."""
    return opwright.zeros(shape, dtype=dtype, device=device)


def ones(shape: Sizes, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array of ones."""
    return opwright.ones(shape, dtype=dtype, device=device)


def full(shape: Sizes, fill_value: Number | Tensor, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array of `fill_value`, an array too, whose dtype is the default one of its kind or the array's."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(fill_value, Tensor):
        return opwright.broadcast_to(fill_value.to(dtype=dtype, device=device), sizes).clone()
    return opwright.full(sizes, fill_value, dtype=scalar_dtype(fill_value) if dtype is None else dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array of the shape of `x`, whose elements are anything."""
    return opwright.empty_like(x, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array of zeros of the shape of `x`."""
    return opwright.zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array of ones of the shape of `x`."""
    return opwright.ones_like(x, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Number, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array of `fill_value` of the shape of `x`."""
    return opwright.full_like(x, fill_value, dtype=dtype, device=device)


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Return the coordinates of a grid: for each vector, an array of all of the grid's points.

    Raises ValueError for other words than "xy" and "ij".
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: indexing must be "xy" or "ij", but got {indexing!r}')
    return tuple(grid_of(*arrays, indexing=indexing)) if arrays else ()


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return matrices with zeros above the diagonal `k`."""
    return opwright.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return matrices with zeros below the diagonal `k`."""
    return opwright.triu(x, k)
