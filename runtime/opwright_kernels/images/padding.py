"""Padding: a copy with more positions at the borders of its last dimensions, or with fewer where a size is negative."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from opwright_core import rules
from opwright_core.arrays.dtypes import wrapped_scalar
from opwright_core.arrays.storage import new_array
from opwright_core.core import compiled

Array = Any


@compiled
def constant_pad(xp: ModuleType, self: Array, pad: Sequence[int], value: complex) -> Array:
    """Pad with `value` in the new positions (`constant_pad_nd`)."""
    inner, grown = _cropped(self, pad)
    if all(pair == (0, 0) for pair in grown):
        return inner
    plan = rules.padded(self, pad)
    result = new_array(plan.shape, plan.strides, self.dtype, self)
    number = wrapped_scalar(value, self.dtype)
    # Each border once, as long as what the dimensions before it have left; then the inside.
    index: tuple[slice, ...] = ()
    for dim, (before, after) in enumerate(grown):
        end = result.shape[dim] - after
        result[(*index, slice(0, before))] = number
        result[(*index, slice(end, None))] = number
        index = (*index, slice(before, end))
    result[index] = inner
    return result


@compiled
def reflection_pad(xp: ModuleType, self: Array, padding: Sequence[int]) -> Array:
    """Pad with the mirror image of the positions inside, without the border itself (`reflection_pad1d`, `2d`, `3d`)."""
    grown = [(max(before, 0), max(after, 0)) for before, after in _pairs(self, padding)]
    result = xp.empty([b + size + a for size, (b, a) in zip(self.shape, grown, strict=True)], self.dtype)
    result[tuple([slice(b, b + size) for size, (b, _) in zip(self.shape, grown, strict=True)])] = self
    for dim, (before, after) in enumerate(grown):  # each border is whole once those of the last dimension are
        indices = result.swapaxes(dim, 0)
        end = len(indices) - after
        indices[:before] = indices[before + 1 : 2 * before + 1][::-1]
        indices[end:] = indices[end - 1 - after : end - 1][::-1]
    return result if min(padding) >= 0 else _cropped(result, [min(each, 0) for each in padding])[0].copy()


@compiled
def replication_pad(xp: ModuleType, self: Array, padding: Sequence[int]) -> Array:
    """Pad with copies of the border (`replication_pad1d`, `2d`, `3d`)."""
    indices = xp.arange
    result = self
    for at in range(len(padding) // 2):
        before, after = padding[2 * at], padding[2 * at + 1]
        if before or after:
            size = self.shape[-1 - at]  # borders are those of the whole, though less of it may stay
            index = xp.clip(indices(-before, size + after), 0, size - 1)
            result = xp.take(result, index, axis=self.ndim - 1 - at)
    return result if result is not self else self.copy()


def _pairs(self: Array, pad: Sequence[int]) -> list[tuple[int, int]]:
    pairs = [(0, 0)] * self.ndim
    for at in range(len(pad) // 2):
        pairs[-1 - at] = (pad[2 * at], pad[2 * at + 1])
    return pairs


def _cropped(self: Array, pad: Sequence[int]) -> tuple[Array, list[tuple[int, int]]]:
    """Return the part of the array that stays, and what comes before and after it in each dimension."""
    pairs = _pairs(self, pad)
    index = tuple(
        [
            slice(-before if before < 0 else 0, size + after if after < 0 else size)
            for size, (before, after) in zip(self.shape, pairs, strict=True)
        ]
    )
    return self[index], [(before if before > 0 else 0, after if after > 0 else 0) for before, after in pairs]
