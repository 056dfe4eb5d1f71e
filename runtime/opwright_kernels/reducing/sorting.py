"""Sorting and order statistics.

Order is by keys: unsigned integers that sort as the elements do, NaN last. Keys of up to 32 bits share one 64-bit word
with the element's position, so that one sort of integers, which NumPy and CuPy do fastest, is a stable sort of
elements.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import bfloat16
from opwright_core.core import compiled
from opwright_kernels.moving.indexing import take_along
from opwright_kernels.reducing.scans import running
from opwright_kernels.special_functions.approximation import in_rows

Array = Any

_LONG = 1 << 22  # elements of one call of NumPy's
_FEW = 4096  # elements that a stable sort orders before their keys were made


@compiled
def sort(xp: ModuleType, self: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """Return the elements along `dim` in order, equal ones in the order they had, and where each stood."""
    if not self.ndim:
        return self.copy(), xp.zeros((), dtype="int64")
    rows = self.swapaxes(dim, -1)
    order = in_rows(xp, lambda part: _order(xp, sort_keys(xp, part, descending)), rows).swapaxes(dim, -1)
    return _in_order(xp, self, order, dim), order


def _in_order(xp: ModuleType, self: Array, order: Array, dim: int) -> Array:
    """Return `take_along_axis` of both, made of parts where they are long: a signal waits for one of them."""
    if xp is not np or self.size <= _LONG:
        return xp.take_along_axis(self, order, axis=dim)
    if self.ndim > 1:
        axis = 0 if dim % self.ndim else 1
        return in_rows(xp, lambda part, places: xp.take_along_axis(part, places, axis=dim), self, order, axis=axis)
    made = np.empty(order.shape, self.dtype)
    for start in range(0, order.size, _LONG):
        made[start : start + _LONG] = self[order[start : start + _LONG]]
    return made


def sort_stable(xp: ModuleType, self: Array, stable: bool | None, dim: int, descending: bool) -> tuple[Array, Array]:
    """Sort as `sort` does, which is stable in any case."""
    return sort(xp, self, dim, descending)


def sortable(xp: ModuleType, self: Array) -> Array:
    """Return the elements in a dtype that the array module sorts: CuPy does not sort bfloat16."""
    return self.astype("float32") if xp is not np and self.dtype == bfloat16 else self


@compiled
def topk(xp: ModuleType, self: Array, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
    """Return the first `k` elements that `sort` would give, and where each stood."""
    if not self.ndim:
        return self.copy(), xp.zeros((), dtype="int64")
    rows = self.swapaxes(dim, -1)
    if xp is np and self.dtype.kind == "f" and 0 < self.size <= _FEW and self.max() == self.max():
        order = np.argsort(-rows if largest else rows, axis=-1, kind="stable")[..., :k].swapaxes(dim, -1)
    else:
        order = in_rows(xp, lambda part: _first_of_order(xp, sort_keys(xp, part, largest), k), rows).swapaxes(dim, -1)
    return take_along(xp, self, order, dim if dim >= 0 else dim + self.ndim), order


@compiled
def kthvalue(xp: ModuleType, self: Array, k: int, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Return the `k`-th smallest element along `dim`, counted from 1, and where it stood."""
    if not self.ndim:
        return self.copy(), xp.zeros((), dtype="int64")
    positions = in_rows(xp, lambda part: _place_of(xp, sort_keys(xp, part), k - 1), self.swapaxes(dim, -1))
    return _taken(xp, self, positions, dim, keepdim)


@compiled
def median(xp: ModuleType, self: Array) -> Array:
    """Return the middle element, the lower one of two; NaN where there is one, or nothing."""
    elements = self.reshape(-1)
    if not elements.size:
        return _value_of_nothing(xp, self)
    if xp is np and self.dtype.kind == "f":
        largest = elements.max()
        if largest != largest:
            return np.asarray(largest)
        middle = (elements.size - 1) // 2
        return np.asarray(np.partition(elements, middle)[middle])
    return _taken(xp, elements, _middle(xp, elements), 0, False)[0]


def nanmedian(xp: ModuleType, self: Array) -> Array:
    """Return the middle element of those that are not NaN, the lower one of two; NaN where there is none."""
    elements = self.reshape(-1)
    if self.dtype.kind == "f":
        numbers = elements[~xp.isnan(elements)]
        elements = numbers if numbers.size else elements
    return median(xp, elements)


def _value_of_nothing(xp: ModuleType, self: Array) -> Array:
    if self.dtype.kind == "f":
        return xp.full((), float("nan"), self.dtype)
    return xp.full((), xp.iinfo(self.dtype).min, self.dtype)


@compiled
def median_and_position(xp: ModuleType, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Return the middle element along `dim`, the lower of two, and where it stood; the first NaN if there is one."""
    if not self.ndim:
        return self.copy(), xp.zeros((), dtype="int64")
    return _taken(xp, self, in_rows(xp, lambda part: _middle(xp, part), self.swapaxes(dim, -1)), dim, keepdim)


def _middle(xp: ModuleType, rows: Array) -> Array:
    keys = sort_keys(xp, rows)
    positions = _place_of(xp, keys, (rows.shape[-1] - 1) // 2)
    if rows.dtype.kind != "f":
        return positions
    is_nan = xp.isnan(rows)
    return xp.where(is_nan.any(axis=-1, keepdims=True), is_nan.argmax(axis=-1)[..., None], positions)


@compiled
def nanmedian_and_position(xp: ModuleType, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Return the middle element along `dim` of those that are not NaN, the lower one of two, and where it stood."""
    if not self.ndim:
        return self.copy(), xp.zeros((), dtype="int64")
    rows = self.swapaxes(dim, -1)
    if rows.dtype.kind != "f":
        return _taken(xp, self, _middle(xp, rows), dim, keepdim)
    numbers = rows.shape[-1] - xp.isnan(rows).sum(axis=-1, keepdims=True)
    order = _order(xp, sort_keys(xp, rows))
    positions = xp.take_along_axis(order, xp.maximum(numbers - 1, 0) // 2, axis=-1)
    return _taken(xp, self, positions, dim, keepdim)


@compiled
def mode(xp: ModuleType, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Return the most frequent element along `dim`, the smallest of several, and where it last stood."""
    if not self.ndim:
        return self.copy(), xp.zeros((), dtype="int64")
    rows = self.swapaxes(dim, -1)
    order = _order(xp, sort_keys(xp, rows))
    ordered = xp.take_along_axis(rows, order, axis=-1)
    length = rows.shape[-1]
    ends = xp.ones(rows.shape, dtype=bool)
    xp.not_equal(ordered[..., 1:], ordered[..., :-1], out=ends[..., :-1])
    # The end of a run before each position: runs are as long as their end is far from the end before.
    positions = xp.broadcast_to(xp.arange(length), rows.shape)
    before = _last_end(xp, ends, positions)
    runs = xp.where(ends, positions - before, 0)
    last = runs.argmax(axis=-1)[..., None]
    return _taken(xp, self, xp.take_along_axis(order, last, axis=-1), dim, keepdim)


def _last_end(xp: ModuleType, ends: Array, positions: Array) -> Array:
    found = xp.full(ends.shape, -1)
    found[..., 1:] = xp.where(ends, positions, -1)[..., :-1]
    return running(xp, xp.maximum, found, -1)


def _taken(xp: ModuleType, self: Array, positions: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Return the elements at one position of each row, rows being along `dim`, and the positions."""
    positions = positions.swapaxes(dim, -1)
    values = xp.take_along_axis(self, positions, axis=dim)
    return (values, positions) if keepdim else (values.squeeze(dim), positions.squeeze(dim))


def sort_keys(xp: ModuleType, self: Array, descending: bool = False) -> Array:
    """Return a new array of unsigned integers of the elements' width that sort as the elements do: NaN last, zeros of
    both signs equal."""
    width = self.dtype.itemsize
    bits = xp.ascontiguousarray(self).view(f"u{width}")
    if self.dtype.kind in "ub":
        return ~bits if descending else bits.copy()
    sign = bits.dtype.type(1 << (8 * width - 1))
    if self.dtype.kind == "i":
        keys = bits ^ sign
    else:
        # Positive numbers sort by their bits; negative ones backwards, and before them.
        is_negative = bits > sign
        keys = xp.where(is_negative, ~bits, bits | sign)
        keys[self != self] = ~bits.dtype.type(0)
    return xp.invert(keys, out=keys) if descending else keys


def _packed(xp: ModuleType, keys: Array) -> Array | None:
    """Return keys and positions in one 64-bit word each, None where both do not fit."""
    length = keys.shape[-1]
    if keys.dtype.itemsize > 4 or length > 1 << 32:
        return None
    packed = keys.astype("uint64")
    packed <<= packed.dtype.type(32)
    packed |= xp.arange(length, dtype="uint64")
    return packed


def _unpacked(packed: Array) -> Array:
    packed &= packed.dtype.type(0xFFFFFFFF)
    return packed.view("int64")


def _order(xp: ModuleType, keys: Array) -> Array:
    """Return the positions of the keys along the last dimension in their order; equal keys stay in the order they
    have."""
    packed = _packed(xp, keys)
    if packed is None:
        return _order_of_wide(xp, keys)
    packed.sort(axis=-1)
    return _unpacked(packed)


def _order_of_wide(xp: ModuleType, keys: Array) -> Array:
    order = keys.argsort(axis=-1)
    ordered = xp.take_along_axis(keys, order, axis=-1)
    differs = ordered[..., 1:] != ordered[..., :-1]
    if keys.shape[-1] > 1 << 32 or differs.all():
        return order
    # The faster sort mixed up equal keys: sorted again by the number of their run, then by position.
    runs = xp.zeros(keys.shape, dtype="uint32")
    xp.cumsum(differs.astype("uint32"), axis=-1, dtype="uint32", out=runs[..., 1:])  # (a sum that casts holds the GIL)
    packed = runs.astype("uint64")
    packed <<= packed.dtype.type(32)
    packed |= order.astype("uint64")
    packed.sort(axis=-1)
    return _unpacked(packed)


def _first_of_order(xp: ModuleType, keys: Array, k: int) -> Array:
    """Return the first `k` positions of `_order`."""
    length = keys.shape[-1]
    if 4 * k > length:
        return _order(xp, keys)[..., :k]
    packed = _packed(xp, keys)
    if packed is not None:
        if k:
            packed.partition(k - 1, axis=-1)
        first = xp.ascontiguousarray(packed[..., :k])
        first.sort(axis=-1)
        return _unpacked(first)
    first = keys.argpartition(max(k - 1, 0), axis=-1)[..., :k]
    first.sort(axis=-1)
    return xp.take_along_axis(first, _order(xp, xp.take_along_axis(keys, first, axis=-1)), axis=-1)


def _place_of(xp: ModuleType, keys: Array, k: int) -> Array:
    """Return the `k`-th position of `_order` in a dimension of one; with keys of 64 bits, that of any key equal to
    it."""
    packed = _packed(xp, keys)
    if packed is None:
        return keys.argpartition(k, axis=-1)[..., k : k + 1]
    packed.partition(k, axis=-1)
    return _unpacked(packed[..., k : k + 1].copy())
