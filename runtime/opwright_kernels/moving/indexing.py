"""Reading and writing at positions given by arrays. The rules of the operators have checked what can be checked without
the data."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.core import compiled
from opwright_kernels.moving.copying import own_copy, scalar_of
from opwright_kernels.moving.scattering import accumulate, check_positions, flattened, put_back
from opwright_kernels.moving.shapes import strided
from opwright_kernels.rules.indexing import positions_of

Array = Any


@compiled
def take_at(xp: ModuleType, self: Array, indices: Sequence[Array | None]) -> Array:
    """Return the elements at broadcast positions, which masks have become; None takes a dimension whole (`index`)."""
    index = tuple([slice(None) if each is None else each for each in indices])
    _check_inside(xp, self, index)
    try:
        return self[index]
    except IndexError as error:
        raise _clearer(error, self, index) from None


@compiled
def put_at(
    xp: ModuleType,
    self: Array,
    indices: Sequence[Array | None],
    values: Array,
    accumulate: bool,
    out: Array | None = None,
) -> Array:
    """Return `self` with broadcast values at the positions; with `accumulate` they are added, a position named twice
    getting both (`index_put`)."""
    index = tuple([slice(None) if each is None else each for each in positions_of(indices)])
    _check_inside(xp, self, index)
    given = [each for each in index if not isinstance(each, slice)]
    if values.ndim > self.ndim - len(given) + max(each.ndim for each in given):  # (NumPy takes ones in front)
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(values.shape)} has too many dimensions")
    target = own_copy(xp, self, out)
    values = _as_fill(xp, values, target)
    try:
        if accumulate:
            _add_at(xp, target, index, values)
        else:
            target[index] = values
    except IndexError as error:
        raise _clearer(error, self, index) from None
    except ValueError as error:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast: {error}"
        ) from None
    return target


def _as_fill(xp: ModuleType, values: Array, target: Array) -> Array:
    """Return values in the dtype of `target`: others are one element at a mask. Raises RuntimeError if that does not
    fit."""
    return values if values.dtype == target.dtype else xp.asarray(scalar_of(values, target.dtype))


def _check_inside(xp: ModuleType, self: Array, index: tuple[Any, ...]) -> None:
    """Raise IndexError for a position outside of its dimension, where the array module would not: CuPy wraps it."""
    if xp is not np:
        for dim, each in enumerate(index):
            if not isinstance(each, slice):
                check_positions(each, self.shape[dim], IndexError, negative=True, where=f"dimension {dim}")


def _add_at(xp: ModuleType, target: Array, index: tuple[Any, ...], values: Array) -> None:
    """Add values at positions, each as often as it is named; CuPy's `add.at` knows few dtypes."""
    if xp is np:
        if len(index) == 1 and not isinstance(index[0], slice) and index[0].size * target.size > 64 * len(target) > 0:
            _add_slices(target, index[0], values)
        else:
            np.add.at(target, index, values)
        return
    positions = xp.arange(target.size).reshape(target.shape)[index]
    flat = flattened(xp, target)
    accumulate(xp, "add", flat, positions.reshape(-1), xp.broadcast_to(values, positions.shape).reshape(-1))
    put_back(flat, target)


def _add_slices(target: Array, index: Array, values: Array) -> None:
    """Add values at positions along the first dimension. Raises IndexError for one outside of it."""
    size = target.shape[0]
    if index.size and not -size <= int(index.min()) <= int(index.max()) < size:
        raise IndexError("out of bounds")
    values = np.broadcast_to(values, (*index.shape, *target.shape[1:])).reshape(index.size, *target.shape[1:])
    accumulate(np, "add", target, np.where(index < 0, index + size, index).reshape(-1), values)


def _clearer(error: IndexError, self: Array, index: tuple[Any, ...]) -> IndexError:
    for dim, each in enumerate(index):
        if not isinstance(each, slice):
            size = self.shape[dim]
            outside = each[(each < -size) | (each >= size)]
            if outside.size:
                return IndexError(
                    f"index {int(outside.ravel()[0])} is out of bounds for dimension {dim} with size {size}"
                )
    shapes = ", ".join(str(list(each.shape)) for each in index if not isinstance(each, slice))
    return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")


@compiled
def index_select(xp: ModuleType, self: Array, dim: int, index: Array) -> Array:
    """Return the slices of `dim` that a 1-d index names."""
    size = self.shape[dim] if self.ndim else 1
    check_positions(index, size, IndexError)
    return xp.take(self, index.reshape(-1), axis=dim) if self.ndim else self.copy()


@compiled
def take(xp: ModuleType, self: Array, index: Array) -> Array:
    """Return the elements at positions counted through the whole array in row-major order."""
    check_positions(index, self.size, IndexError, negative=True)
    return xp.take(self, index)


@compiled
def gather(xp: ModuleType, self: Array, dim: int, index: Array, sparse_grad: bool) -> Array:
    """Return the elements whose position along `dim` `index` gives, and along other dimensions the position in
    `index`."""
    if not index.size:
        return xp.empty(index.shape, self.dtype)
    if not self.ndim or not index.ndim:
        check_positions(index, self.size, RuntimeError)
        return xp.take(self.reshape(-1), index.reshape(-1)).reshape(index.shape)
    check_positions(index, self.shape[dim], RuntimeError)
    return take_along(xp, self, index, dim)


def take_along(xp: ModuleType, self: Array, index: Array, dim: int) -> Array:
    """Take along a dimension: `take_along_axis` without its checks. `index` may have fewer positions in others."""
    if self.ndim == 1:
        return self[index]
    ndim = self.ndim
    own, ones = dim % ndim, (1,) * ndim
    others = [None if i == own else xp.arange(size).reshape(-1, *ones[i + 1 :]) for i, size in enumerate(index.shape)]
    return self[(*others[:own], index, *others[own + 1 :])]


@compiled
def choose(xp: ModuleType, condition: Array, self: Array, other: Array) -> Array:
    """Return the elements of `self` where the condition is true, else of `other`; the three broadcast (`where`)."""
    return xp.where(condition, self, other)


@compiled
def fill_where(xp: ModuleType, self: Array, mask: Array, value: Any, out: Array | None = None) -> Array:
    """Return `self` with `value` where the mask is true; the two broadcast (`masked_fill`)."""
    value = scalar_of(value, self.dtype)
    if out is None:
        return xp.where(mask, value, self)
    xp.copyto(own_copy(xp, self, out), value, where=mask)
    return out


@compiled
def positions(xp: ModuleType, self: Array) -> Array:
    """Return one row per element that is not zero, holding its index along each dimension; stored by columns, as in
    PyTorch (`nonzero`)."""
    rows = xp.stack(xp.nonzero(self), axis=0).T if self.ndim else xp.zeros((int(bool(self)), 0), dtype="int64")
    # NumPy says nothing about the strides of empty arrays, and of dimensions of size 1.
    count = rows.shape[0]
    return rows if count > 1 and self.ndim else strided(xp, rows, rows.shape, (rows.itemsize, count * rows.itemsize))


def first_positions(xp: ModuleType, self: Array, size: int, fill_value: int) -> Array:
    """Return the positions of the first elements that are not zero, a row each, then rows of `fill_value`
    (`nonzero_static`)."""
    rows = xp.full((size, self.ndim), fill_value, "int64")
    found = positions(xp, self)[:size]
    rows[: len(found)] = found
    return rows
