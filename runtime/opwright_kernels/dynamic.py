"""Fake kernels of operators whose results depend on data: unbacked numbers where the mode has a ShapeEnv, else errors.

They handle the Meta key, and see arrays without data.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.arrays.dtypes import float32, float64, int64
from opwright_core.arrays.layouts import contiguous_strides, surely_empty
from opwright_kernels.moving.rearranging import check_repeats
from opwright_kernels.reducing.bins import check_counted
from opwright_kernels.reducing.uniqueness import Unique, check_ordered, checked_dim

Array = Any


def unknown_positions(xp: ModuleType, self: Array) -> Array:
    """Return as many rows as there are elements that are not 0 (`nonzero`)."""
    from opwright.fake.arrays import meta_array
    from opwright.fake.context import dynamic_size

    what = "nonzero(): the number of elements that are not 0"
    rows = 0 if surely_empty(self.shape) else dynamic_size(self.place, what, self.size)
    return meta_array((rows, self.ndim), (1, rows), int64, self.place)


def unknown_element(xp: ModuleType, self: Array) -> Any:
    """Return the only element, which is unknown (`item`)."""
    from opwright.fake.context import read_item

    return read_item(self, "item()")


def unknown_equality(xp: ModuleType, self: Array, other: Array) -> bool:
    """Return false for other shapes, else an unknown condition (`equal`)."""
    from opwright.fake.context import no_data

    if len(self.shape) != len(other.shape) or any(a != b for a, b in zip(self.shape, other.shape, strict=True)):
        return False
    raise no_data(self, "equal()")


def unknown_unique(xp: ModuleType, self: Array, sorted: bool, return_inverse: bool, return_counts: bool) -> Unique:
    """Return the unique elements, at most as many as there are (`_unique2`)."""
    check_ordered(self)
    return _unique_elements(xp, self, return_inverse, return_counts)


def unknown_unique_and_inverse(xp: ModuleType, self: Array, sorted: bool, return_inverse: bool) -> tuple[Array, Array]:
    """Return the unique elements, at most as many as there are (`_unique`)."""
    return unknown_unique(xp, self, sorted, return_inverse, False)[:2]


def unknown_unique_slices(
    xp: ModuleType, self: Array, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
) -> Unique:
    """Return the unique slices, at most as many as there are (`unique_dim`)."""
    return unknown_neighbour_slices(xp, self, dim, return_inverse, return_counts)


def unknown_neighbours(
    xp: ModuleType, self: Array, return_inverse: bool, return_counts: bool, dim: int | None
) -> Unique:
    """Return elements, or slices of `dim`, at most as many as there are (`unique_consecutive`)."""
    if dim is not None:
        return unknown_neighbour_slices(xp, self, dim, return_inverse, return_counts)
    check_ordered(self)
    return _unique_elements(xp, self, return_inverse, return_counts)


def unknown_neighbour_slices(
    xp: ModuleType, self: Array, dim: int, return_inverse: bool, return_counts: bool
) -> Unique:
    """Return slices, at most as many as there are (`unique_dim_consecutive`)."""
    from opwright.fake.arrays import meta_array

    dim = checked_dim(self, dim)
    if surely_empty((self.shape[dim],)):
        none = xp.empty_like(self, int64, shape=(0,))
        return xp.empty_like(self, self.dtype, shape=self.shape), none, xp.empty_like(none, int64, shape=(0,))
    count = _unique_count(self, self.shape[dim])
    # The slices lie one after another, as rows do; then the dimension goes to its position.
    steps = contiguous_strides((count, *self.shape[:dim], *self.shape[dim + 1 :]))
    shape = (*self.shape[:dim], count, *self.shape[dim + 1 :])
    kept = meta_array(shape, (*steps[1 : dim + 1], steps[0], *steps[dim + 1 :]), self.dtype, self.place)
    inverse = xp.empty_like(self, int64, shape=(self.shape[dim],))
    return kept, inverse, xp.empty_like(self, int64, shape=(count,))


def _unique_elements(xp: ModuleType, self: Array, return_inverse: bool, return_counts: bool) -> Unique:
    count = 0 if surely_empty(self.shape) else _unique_count(self, self.size)
    inverse = xp.empty_like(self, int64, shape=self.shape if return_inverse else (0,))
    counts = xp.empty_like(self, int64, shape=(count if return_counts else 0,))
    return xp.empty_like(self, self.dtype, shape=(count,)), inverse, counts


def _unique_count(self: Array, most: Any) -> Any:
    from opwright.fake.context import dynamic_size

    return dynamic_size(self.place, "the number of unique elements", most)


def unknown_counts(xp: ModuleType, self: Array, weights: Array | None, minlength: int) -> Array:
    """Return as many numbers as the largest one says, and `minlength` at least (`bincount`)."""
    from opwright.fake.context import dynamic_size

    check_counted(self, weights, minlength)
    if surely_empty(self.shape):
        return xp.empty_like(self, int64, shape=(minlength,))
    count = dynamic_size(self.place, "bincount(): the largest number", least=minlength)
    dtype = int64 if weights is None else float32 if weights.dtype == float32 else float64
    return xp.empty_like(self, dtype, shape=(count,))


def unknown_repeats(xp: ModuleType, repeats: Array, output_size: int | None) -> Array:
    """Return as many positions as the repeats add up to, which `output_size` may say (`repeat_interleave.Tensor`)."""
    from opwright.fake.context import dynamic_size

    check_repeats(repeats)
    if output_size is None:
        output_size = dynamic_size(repeats.place, "repeat_interleave(): the sum of the repeats")
    return xp.empty_like(repeats, repeats.dtype, shape=(output_size,))


def assert_unknown(xp: ModuleType, self: Array, assert_msg: str = "") -> None:
    """Accept any element (`_assert_async`): without data, nothing is known to be wrong."""
