"""Fake kernels of operators whose results depend on data: unbacked numbers where the mode has a ShapeEnv, else errors.

They serve the Meta key, and see arrays without data.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright.dtypes import DType, int64
from opwright.kernels.uniqueness import check_ordered, dim_of_slices
from opwright.layouts import Shape, contiguous_strides
from opwright.sizes import check, guard_or_false, statically_known_true

Array = Any
Unique = tuple[Array, Array, Array]


def unknown_positions(xp: ModuleType, self: Array) -> Array:
    """`nonzero`: as many rows as there are elements that are not 0."""
    from opwright.fake.arrays import meta_array
    from opwright.fake.context import dynamic_size

    rows = dynamic_size(self.place, "nonzero(): the number of elements that are not 0", self.size)
    return meta_array((rows, self.ndim), (1, rows), int64, self.place)


def unknown_unique(xp: ModuleType, self: Array, sorted: bool, return_inverse: bool, return_counts: bool) -> Unique:
    """`_unique2`: no more elements than there are; what is not asked for is empty."""
    check_ordered(self)
    found = _up_to(self, self.size)
    inverse = self.shape if return_inverse else (0,)
    return _new(self, (found,), self.dtype), _new(self, inverse), _new(self, (found if return_counts else 0,))


def unknown_unique_and_inverse(xp: ModuleType, self: Array, sorted: bool, return_inverse: bool) -> tuple[Array, Array]:
    """`_unique`, as `unknown_unique`."""
    return unknown_unique(xp, self, sorted, return_inverse, False)[:2]


def unknown_unique_slices(
    xp: ModuleType, self: Array, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
) -> Unique:
    """`unique_dim`: no more slices than there are."""
    return unknown_neighbour_slices(xp, self, dim, return_inverse, return_counts)


def unknown_neighbours(
    xp: ModuleType, self: Array, return_inverse: bool, return_counts: bool, dim: int | None
) -> Unique:
    """`unique_consecutive`."""
    if dim is None:
        return unknown_unique(xp, self, True, return_inverse, return_counts)
    return unknown_neighbour_slices(xp, self, dim, return_inverse, return_counts)


def unknown_neighbour_slices(
    xp: ModuleType, self: Array, dim: int, return_inverse: bool, return_counts: bool
) -> Unique:
    """`unique_dim_consecutive`."""
    dim = dim_of_slices(self, dim)
    length, rest = self.shape[dim], (*self.shape[:dim], *self.shape[dim + 1 :])
    if guard_or_false(length == 0):
        return _new(self, self.shape, self.dtype), _new(self, (0,)), _new(self, (0,))
    found = _up_to(self, length)
    slices = _new(self, (found, *rest), self.dtype).transpose((*range(1, dim + 1), 0, *range(dim + 1, self.ndim)))
    return slices, _new(self, (length,)), _new(self, (found,))


def _up_to(self: Array, most: Any) -> Any:
    """How many differ of so many."""
    from opwright.fake.context import dynamic_size

    found = dynamic_size(self.place, "unique(): the number of elements that differ", most)
    check(found <= most)
    if statically_known_true(most >= 1):
        check(found >= 1)
    return found


def _new(self: Array, shape: Shape, dtype: DType = int64) -> Array:
    from opwright.fake.arrays import meta_array

    return meta_array(shape, contiguous_strides(shape), dtype, self.place)


def unknown_element(xp: ModuleType, self: Array) -> Any:
    """`item`: the only element."""
    from opwright.fake.context import read_item

    return read_item(self, "item()")


def unknown_equality(xp: ModuleType, self: Array, other: Array) -> bool:
    """`equal`: false for other shapes, else nobody knows."""
    from opwright.fake.context import no_data

    if len(self.shape) != len(other.shape) or any(a != b for a, b in zip(self.shape, other.shape, strict=True)):
        return False
    raise no_data(self, "equal()")
