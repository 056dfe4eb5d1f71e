"""Unique elements, and unique slices of a dimension. NaN is equal to nothing, so each one is kept.

Results are the unique elements, the position of each input element's equal among them, and how often each occurs; the
last two are empty where they are not asked for.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.arrays.dtypes import COMPLEX
from opwright_core.arrays.layouts import count, surely_empty, wrap_dim
from opwright_core.errors import DispatchError
from opwright_core.locks.long_calls import interruptible
from opwright_kernels.reducing.sorting import sort, sortable

Array = Any
Unique = tuple[Array, Array, Array]


@interruptible
def unique(xp: ModuleType, self: Array, sorted: bool, return_inverse: bool, return_counts: bool) -> Unique:
    """Return the unique elements in order."""
    check_ordered(self)
    elements = self.reshape(-1)
    if return_inverse:
        ordered, order = sort(xp, elements, 0, False)
    else:
        ordered, order = xp.sort(sortable(xp, elements)).astype(self.dtype, copy=False), None
    is_first = _differs_from_previous(xp, ordered)
    inverse = _ranks(xp, is_first, order).reshape(self.shape) if return_inverse else _none(xp)
    return ordered[is_first], inverse, _lengths(xp, is_first) if return_counts else _none(xp)


@interruptible
def unique_and_inverse(xp: ModuleType, self: Array, sorted: bool, return_inverse: bool) -> tuple[Array, Array]:
    """Return the unique elements in order, and the position of each element's equal among them."""
    return unique(xp, self, sorted, return_inverse, False)[:2]


@interruptible
def unique_slices(
    xp: ModuleType, self: Array, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
) -> Unique:
    """Return the unique slices of `dim`, in the order of their elements. As in PyTorch, all three results are there in
    any case."""
    rows = _rows(self, dim)
    # (a copy: elements that change while they are sorted lead beyond the array, Note [Long calls])
    order = xp.lexsort(sortable(xp, rows).T[::-1].copy()) if rows.size else xp.arange(len(rows))
    return _unique_rows(xp, self, dim, rows[order], order)


@interruptible
def unique_neighbours(
    xp: ModuleType, self: Array, return_inverse: bool, return_counts: bool, dim: int | None
) -> Unique:
    """Return the elements without those equal to the one before, or the slices of `dim`."""
    if dim is not None:
        return unique_neighbour_slices(xp, self, dim, return_inverse, return_counts)
    check_ordered(self)
    elements = self.reshape(-1)
    is_first = _differs_from_previous(xp, elements)
    inverse = _ranks(xp, is_first, None).reshape(self.shape) if return_inverse else _none(xp)
    return elements[is_first], inverse, _lengths(xp, is_first) if return_counts else _none(xp)


@interruptible
def unique_neighbour_slices(xp: ModuleType, self: Array, dim: int, return_inverse: bool, return_counts: bool) -> Unique:
    """Return the slices of `dim` without those equal to the one before. As in PyTorch, all three results are there in
    any case."""
    return _unique_rows(xp, self, dim, _rows(self, dim), None)


def _rows(self: Array, dim: int) -> Array:
    """Return one row for each slice of `dim`."""
    dim = checked_dim(self, dim)
    order = (dim, *(each for each in range(self.ndim) if each != dim))
    return self.transpose(order).reshape(self.shape[dim], count([self.shape[each] for each in order[1:]]))


def checked_dim(self: Array, dim: int) -> int:
    """Return the dimension, counted from the first.

    Raises IndexError where there is none, RuntimeError where its slices have no elements, DispatchError for complex
    ones.
    """
    check_ordered(self)
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, self.ndim)
    if surely_empty((*self.shape[:dim], *self.shape[dim + 1 :])):
        raise RuntimeError("unique cannot be applied where a dimension that is not selected has size 0")
    return dim


def _unique_rows(xp: ModuleType, self: Array, dim: int, rows: Array, order: Array | None) -> Unique:
    if not len(rows):
        return self.copy(), _none(xp), _none(xp)
    dim %= self.ndim
    is_first = _differs_from_previous(xp, rows)
    kept = rows[is_first].reshape(-1, *self.shape[:dim], *self.shape[dim + 1 :])
    return xp.moveaxis(kept, 0, dim), _ranks(xp, is_first, order), _lengths(xp, is_first)


def check_ordered(self: Array) -> None:
    """Raise DispatchError for complex elements."""
    if self.dtype in COMPLEX:
        raise DispatchError(f"unique: not implemented for {self.dtype}: complex numbers have no order")


def _differs_from_previous(xp: ModuleType, elements: Array) -> Array:
    is_first = xp.ones(len(elements), dtype=bool)
    differs = elements[1:] != elements[:-1]
    is_first[1:] = differs if differs.ndim == 1 else differs.any(axis=1)
    return is_first


def _ranks(xp: ModuleType, is_first: Array, order: Array | None) -> Array:
    """Return the number of the run that each element belongs to; elements stand in `order`, or in their own."""
    runs = xp.cumsum(is_first.astype("int64"))  # (a sum that casts holds the GIL)
    runs -= 1
    if order is None:
        return runs
    ranks = xp.empty_like(runs)
    ranks[order] = runs
    return ranks


def _lengths(xp: ModuleType, is_first: Array) -> Array:
    starts = xp.flatnonzero(is_first)
    return xp.diff(starts, append=xp.asarray([len(is_first)], dtype=starts.dtype))


def _none(xp: ModuleType) -> Array:
    return xp.empty(0, dtype="int64")
