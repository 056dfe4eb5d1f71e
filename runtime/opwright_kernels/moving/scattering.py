"""Writing at positions along a dimension: `scatter`, `index_add` and their kin. The rules of the operators have checked
what can be checked without the data; positions are checked here, before anything is written.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import FLOATING, INEXACT, bool_, wrapped_scalar
from opwright_core.arrays.layouts import broadcast_shapes, contiguous_strides, count, wrap_dim
from opwright_core.arrays.overlap import may_share
from opwright_core.core import compiled
from opwright_kernels.moving.copying import own_copy, scalar_of

Array = Any

_UFUNCS = {
    "add": "add",
    "sum": "add",
    "mean": "add",
    "multiply": "multiply",
    "prod": "multiply",
    "amax": "maximum",
    "amin": "minimum",
}


def check_positions(
    index: Array, size: int, error: type[Exception], *, negative: bool = False, where: str = "dimension"
) -> None:
    """Raise `error` where a position is outside of a dimension; those from the end count where `negative`."""
    if not index.size:
        return
    # Seen without their sign, negative positions are larger than any size: one look at the positions finds both.
    if not negative and index.dtype.kind == "i" and int(index.view(f"u{index.itemsize}").max()) < size:
        return
    low, high = int(index.min()), int(index.max())
    if low < (-size if negative else 0) or high >= size:
        raise error(f"index {high if high >= size else low} is out of bounds for {where} with size {size}")


# -- One position for each element of the index


@compiled
def scatter(xp: ModuleType, self: Array, dim: int, index: Array, src: Any, out: Array | None = None) -> Array:
    """Return `self` with `src[i, j]` at `[index[i, j], j]` (dim 0); `src` may be a number."""
    positions, values = _positions(xp, self, dim, index), _values(xp, self, index, src)
    target = own_copy(xp, self, out)
    flat = flattened(xp, target)
    flat[positions] = values
    return put_back(flat, target)


@compiled
def scatter_add(xp: ModuleType, self: Array, dim: int, index: Array, src: Array, out: Array | None = None) -> Array:
    """Return `self` with `src[i, j]` added at `[index[i, j], j]`."""
    return scatter_reduced(xp, self, dim, index, src, "sum", out)


@compiled
def scatter_reduced(
    xp: ModuleType, self: Array, dim: int, index: Array, src: Any, reduce: str, out: Array | None = None
) -> Array:
    """Reduce as `scatter.reduce` does: what stands in `self` counts too."""
    return scatter_reduce(xp, self, dim, index, src, reduce, True, out)


@compiled
def scatter_reduce(
    xp: ModuleType,
    self: Array,
    dim: int,
    index: Array,
    src: Any,
    reduce: str,
    include_self: bool,
    out: Array | None = None,
) -> Array:
    """Return `self` with the elements of `src` that go to one position reduced; its own among them if
    `include_self`."""
    positions, values = _positions(xp, self, dim, index), _values(xp, self, index, src)
    target = own_copy(xp, self, out)
    flat = flattened(xp, target)
    _reduce_into(xp, flat, positions, values, reduce, include_self)
    return put_back(flat, target)


def _positions(xp: ModuleType, self: Array, dim: int, index: Array) -> Array:
    """Return where each element of the index goes, counted through `self` in row-major order."""
    if not index.size:
        return xp.zeros(0, "int64")
    check_positions(index, self.shape[dim] if self.ndim else 1, RuntimeError)
    if not self.ndim or self.ndim == 1:
        return index.reshape(-1)
    dim = wrap_dim(dim, self.ndim)
    steps = contiguous_strides(self.shape)
    found = index.astype("int64") * steps[dim]
    for axis, length in enumerate(index.shape):
        if axis != dim and length > 1:
            along = [1] * index.ndim
            along[axis] = length
            found += (xp.arange(length) * steps[axis]).reshape(along)
    return found.reshape(-1)


def _values(xp: ModuleType, self: Array, index: Array, src: Any) -> Array:
    """Return what goes to the positions, in order: the front part of the source that the index covers, or a number."""
    if not index.size:
        return xp.empty(0, self.dtype)
    if isinstance(src, (bool, int, float, complex)):
        return xp.full(index.size, wrapped_scalar(src, self.dtype), self.dtype)
    if index.ndim and src.ndim and src.shape != index.shape:
        src = src[tuple([slice(length) for length in index.shape])]
    return src.reshape(-1)


def flattened(xp: ModuleType, target: Array) -> Array:
    """Return the elements in row-major order: a view where the target lies so."""
    return xp.ascontiguousarray(target).reshape(-1)


def put_back(flat: Array, target: Array) -> Array:
    """Return the target with the elements that `flattened` gave of it."""
    if not target.flags.c_contiguous:
        target[...] = flat.reshape(target.shape)
    return target


# -- One position for each slice


@compiled
def index_add(
    xp: ModuleType, self: Array, dim: int, index: Array, source: Array, alpha: Any, out: Array | None = None
) -> Array:
    """Return `self` with `alpha` times the slices of `source` along `dim` added to those that the index names."""
    is_plain = alpha == 1 and not isinstance(alpha, bool)
    if source.size and not is_plain:
        source = source * wrapped_scalar(alpha, self.dtype)
    index = _slices(self, dim, index, RuntimeError if self.ndim > 1 and is_plain else IndexError)
    target = own_copy(xp, self, out)
    accumulate(xp, "add", _leading(xp, target, dim), index, _leading(xp, source, dim))
    return target


def index_reduce(
    xp: ModuleType,
    self: Array,
    dim: int,
    index: Array,
    source: Array,
    reduce: str,
    include_self: bool,
    out: Array | None = None,
) -> Array:
    """Return `self` with the slices of `source` that go to one position reduced; its own among them if
    `include_self`."""
    index = _slices(self, dim, index, IndexError)
    target = own_copy(xp, self, out)
    _reduce_into(xp, _leading(xp, target, dim), index, _leading(xp, source, dim), reduce, include_self)
    return target


@compiled
def index_copy(xp: ModuleType, self: Array, dim: int, index: Array, source: Array, out: Array | None = None) -> Array:
    """Return `self` with the slices of `source` along `dim` at the positions that the index names."""
    index = _slices(self, dim, index, IndexError)
    target = own_copy(xp, self, out)
    _leading(xp, target, dim)[index] = _leading(xp, source, dim)
    return target


@compiled
def index_fill(xp: ModuleType, self: Array, dim: int, index: Array, value: Any, out: Array | None = None) -> Array:
    """Return `self` with one value, a number or a 0-dim array, in the slices that the index names."""
    index = index.reshape(-1)
    check_positions(index, self.shape[dim] if self.ndim else 1, IndexError, negative=True)
    number = scalar_of(value, self.dtype)
    target = own_copy(xp, self, out)
    _leading(xp, target, dim)[index] = number
    return target


def _slices(self: Array, dim: int, index: Array, error: type[Exception]) -> Array:
    index = index.reshape(-1)
    check_positions(index, self.shape[dim] if self.ndim else 1, error)
    return index


def _leading(xp: ModuleType, array: Array, dim: int) -> Array:
    """Return a view with `dim` in front; a 0-dim array has one."""
    return xp.moveaxis(array, dim, 0) if array.ndim else array.reshape(1)


# -- Positions in the whole array


@compiled
def put(xp: ModuleType, self: Array, index: Array, source: Array, accumulated: bool, out: Array | None = None) -> Array:
    """Return `self` with the elements of `source` at positions counted through it in row-major order."""
    check_positions(index, self.size, IndexError, negative=True)
    positions = index.reshape(-1)
    positions = xp.where(positions < 0, positions + self.size, positions)
    target = own_copy(xp, self, out)
    flat = flattened(xp, target)
    if accumulated:
        accumulate(xp, "add", flat, positions, source.reshape(-1))
    else:
        flat[positions] = source.reshape(-1)
    return put_back(flat, target)


@compiled
def masked_scatter(xp: ModuleType, self: Array, mask: Array, source: Array, out: Array | None = None) -> Array:
    """Return `self` with the elements of `source`, in their order, where the mask is true."""
    shape = broadcast_shapes([self.shape, mask.shape])
    chosen = xp.broadcast_to(mask, shape)
    needed = int(xp.count_nonzero(chosen))
    if needed > source.size:
        raise RuntimeError(
            f"masked_scatter: expected the source to have at least as many elements as the mask has ones: "
            f"{needed}, but it has {source.size}"
        )
    values = source.reshape(-1)[:needed]
    if out is not None and may_share(out, mask):
        chosen = chosen.copy()
    if out is not None and may_share(out, values):
        if out is self and isinstance(out, np.ndarray):
            return _scatter_in_order(out, chosen, values)
        values = values.copy()
    target = own_copy(xp, self if self.shape == shape else xp.broadcast_to(self, shape), out)
    target[chosen] = values
    return target


def _scatter_in_order(target: Array, chosen: Array, values: Array) -> Array:
    """Write values where `chosen` is true, one by one: what is read may have been written before, as in PyTorch."""
    for position, chosen_place in enumerate(np.flatnonzero(chosen)):
        target.flat[chosen_place] = values[position]
    return target


# -- Several values for one position

_DIRECT = 64  # elements for which `ufunc.at` is as fast in any shape
_WIDE = 256  # elements of a slice from which on a call of its own is less than the work
_AT_ONCE = 1 << 16  # elements whose positions are made at once
_PART = 1 << 20  # elements of one `ufunc.at`, during which no other thread of Python runs


def _reduce_into(xp: ModuleType, target: Array, index: Array, values: Array, reduce: str, include_self: bool) -> None:
    """Reduce `values[i]` into `target[index[i]]`, in place."""
    if not include_self:
        target[index] = _neutral(reduce, target.dtype)
    accumulate(xp, _UFUNCS[reduce], target, index, values)
    if reduce == "mean":
        times = xp.bincount(index, minlength=target.shape[0])
        times = xp.maximum(times + 1 if include_self else times, 1).astype(target.dtype)
        times = times.reshape(-1, *(1,) * (target.ndim - 1))
        divide = xp.true_divide if target.dtype in INEXACT else xp.floor_divide
        target[...] = divide(target, times)


def _neutral(reduce: str, dtype: Any) -> Any:
    """Return what changes no other value when it is reduced with it."""
    if reduce in ("amax", "amin"):
        sign = -1 if reduce == "amax" else 1
        if dtype in FLOATING:
            return sign * np.inf
        if dtype == bool_:
            return sign > 0
        info = np.iinfo(dtype)
        return info.min if sign < 0 else info.max
    return 1 if reduce in ("prod", "multiply") else 0


def accumulate(xp: ModuleType, ufunc: str, target: Array, index: Array, values: Array) -> None:
    """Apply `target[i] = ufunc(target[i], value)` for each position along the first dimension and its value, in turn.

    CuPy's `ufunc.at` knows few ufuncs and dtypes, so there the values of one position are brought together first.
    """
    combine = getattr(xp, ufunc)
    if xp is np:
        _accumulate_in_order(combine, target, index, values)
        return
    if not index.size or not count(target.shape):
        return
    order = xp.argsort(index, kind="stable")
    index, values = index[order], values[order]
    first = xp.concatenate([xp.ones(1, bool), index[1:] != index[:-1]])
    start = xp.flatnonzero(first)
    rank = xp.arange(index.size) - start[xp.cumsum(first) - 1]
    _fold(xp, combine, values, rank)
    target[index[start]] = combine(target[index[start]], values[start])


def _accumulate_in_order(combine: Any, target: Array, index: Array, values: Array) -> None:
    """Call `ufunc.at`, element by element, for which NumPy is quick; wide slices are taken one by one instead."""
    width = count(target.shape[1:])
    if index.size * width <= _DIRECT or (target.ndim == 1 and index.size <= _PART):
        combine.at(target, index, values)
        return
    if target.ndim == 1:
        values = np.broadcast_to(values, index.shape)
        for start in range(0, index.size, _PART):
            combine.at(target, index[start : start + _PART], values[start : start + _PART])
        return
    values = np.broadcast_to(values, (index.size, *target.shape[1:]))
    flat = flattened(np, target)
    if width >= _WIDE:
        slices = flat.reshape(-1, width)
        for position, value in zip(index.tolist(), values.reshape(-1, width), strict=True):
            reached = slices[position]
            combine(reached, value, out=reached)
        put_back(flat, target)
        return
    along = np.arange(width)
    step = max(1, _AT_ONCE // max(1, width))
    for start in range(0, index.size, step):
        positions = index[start : start + step, None] * width + along
        combine.at(flat, positions.reshape(-1), values[start : start + step].reshape(-1))
    put_back(flat, target)


def _fold(xp: ModuleType, combine: Any, values: Array, rank: Array) -> None:
    """Reduce each run of values, whose ranks count from 0, into its first: halving their number each time."""
    step = 1
    while step <= int(rank.max()):
        later = xp.flatnonzero(rank % (2 * step) == step)
        values[later - step] = combine(values[later - step], values[later])
        step *= 2
