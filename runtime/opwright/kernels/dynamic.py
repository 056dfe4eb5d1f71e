"""Fake kernels of operators whose results depend on data: unbacked numbers where the mode has a ShapeEnv, else errors.

They serve the Meta key, and see arrays without data.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright.dtypes import float32, float64, int64
from opwright.kernels.rearranging import check_repeats
from opwright.kernels.uniqueness import check_ordered
from opwright.layouts import wrap_dim

Array = Any


def unknown_positions(xp: ModuleType, self: Array) -> Array:
    """`nonzero`: as many rows as there are elements that are not 0."""
    from opwright.fake.context import dynamic_size

    rows = dynamic_size(self.place, "nonzero(): the number of elements that are not 0", self.size)
    return xp.empty_like(self, int64, shape=(rows, self.ndim))


def unknown_unique(
    xp: ModuleType, self: Array, sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    """`_unique2`: as many elements as differ."""
    found = _unique_size(self, self.size)
    counts, positions = (found,) if return_counts else (0,), self.shape if return_inverse else (0,)
    return xp.empty_like(self, self.dtype, shape=(found,)), *_positions(xp, self, positions, counts)


def unknown_unique_and_inverse(xp: ModuleType, self: Array, sorted: bool, return_inverse: bool) -> tuple[Array, Array]:
    """`_unique`: as many elements as differ."""
    return unknown_unique(xp, self, sorted, return_inverse, False)[:2]


def unknown_slices(
    xp: ModuleType, self: Array, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    """`unique_dim`: as many slices as differ, and all three results in any case."""
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, self.ndim)
    found = _unique_size(self, self.shape[dim])
    shape = (*self.shape[:dim], found, *self.shape[dim + 1 :])
    return xp.empty_like(self, self.dtype, shape=shape), *_positions(xp, self, self.shape[dim : dim + 1], (found,))


def unknown_neighbour_slices(
    xp: ModuleType, self: Array, dim: int, return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    """`unique_dim_consecutive`: as many slices as differ from the one before."""
    return unknown_slices(xp, self, dim, True, return_inverse, return_counts)


def unknown_neighbours(
    xp: ModuleType, self: Array, return_inverse: bool, return_counts: bool, dim: int | None
) -> tuple[Array, Array, Array]:
    """`unique_consecutive`: as many elements, or slices of `dim`, as differ from the one before."""
    if dim is None:
        return unknown_unique(xp, self, True, return_inverse, return_counts)
    return unknown_slices(xp, self, dim, True, return_inverse, return_counts)


def _positions(xp: ModuleType, self: Array, *shapes: Any) -> tuple[Array, Array]:
    inverse, counts = (xp.empty_like(self, int64, shape=shape) for shape in shapes)
    return inverse, counts


def _unique_size(self: Array, most: Any) -> Any:
    from opwright.fake.context import dynamic_size

    check_ordered(self)
    return dynamic_size(self.place, "unique(): the number of different elements", most)


def unknown_counts(xp: ModuleType, self: Array, weights: Array | None, minlength: int) -> Array:
    """`bincount`: up to the largest number."""
    from opwright.fake.context import dynamic_size

    found = dynamic_size(self.place, "bincount(): the largest number")
    dtype = int64 if weights is None else float32 if weights.dtype == float32 else float64
    return xp.empty_like(self, dtype, shape=(found,))


def unknown_repeats(xp: ModuleType, repeats: Array, output_size: int | None) -> Array:
    """`repeat_interleave.Tensor`: as many positions as the repeats add up to, which `output_size` may say."""
    from opwright.fake.context import dynamic_size

    check_repeats(repeats)
    if output_size is None:
        output_size = dynamic_size(repeats.place, "repeat_interleave(): the sum of the repeats")
    return xp.empty_like(repeats, repeats.dtype, shape=(output_size,))


def assert_unknown(xp: ModuleType, self: Array, assert_msg: str = "") -> None:
    """`_assert_async`: without data, nothing is known to be wrong."""


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
