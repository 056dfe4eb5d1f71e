"""The memory format that operators on images give their results, from the layout of what they were given."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.devices import element_strides
from opwright_core.arrays.layouts import Shape

# Note [Undecided comparisons] in `layouts`.
UNDECIDED_IS_FALSE = True


def suggests_channels_last(shape: Shape, strides: Shape) -> bool:
    """Whether a 4-d or 5-d array's strides are in the order of channels-last ones, gaps or not (PyTorch's
    `suggest_memory_format`). Where sizes of 1 leave it open, it is row-major."""
    if len(shape) not in (4, 5) or strides[1] == 0:
        return False
    least = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[dim] == 0 or strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim]
        if shape[dim] > 1:
            least *= shape[dim]
    return True


def suggested_strides(shape: Shape, array: Any) -> Shape:
    """Return the strides of a new result of `shape` in the format that the array's own layout suggests."""
    if suggests_channels_last(array.shape, element_strides(array)):
        return layouts.channels_last_strides(shape)
    return layouts.contiguous_strides(shape)
