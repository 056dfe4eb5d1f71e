"""Fake kernels of operators whose results depend on data: unbacked numbers where the mode has a ShapeEnv, else errors.

They serve the Meta key, and see arrays without data.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright.dtypes import int64

Array = Any


def unknown_positions(xp: ModuleType, self: Array) -> Array:
    """`nonzero`: as many rows as there are elements that are not 0."""
    from opwright.fake.context import dynamic_size

    rows = dynamic_size(self.place, "nonzero(): the number of elements that are not 0", self.size)
    return xp.empty_like(self, int64, shape=(rows, self.ndim))


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
