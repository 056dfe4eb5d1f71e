"""Copies that rearrange or repeat the elements. Where a view says it all, the kernel answers with that, and the plan
makes the copy."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from opwright_core import rules
from opwright_core.arrays.dtypes import int64
from opwright_core.arrays.layouts import check_countable, wrap_dim
from opwright_core.core import compiled
from opwright_core.locks.long_calls import interruptible
from opwright_kernels.moving.shapes import diagonal, take_slice

Array = Any


@compiled
def flip(xp: ModuleType, self: Array, dims: Sequence[int]) -> Array:
    """Return the elements in reverse order along some dimensions."""
    index = [slice(None)] * self.ndim
    for dim in dims if self.ndim else ():
        index[dim] = slice(None, None, -1)
    return self[tuple(index)].copy("K")


@compiled
def roll(xp: ModuleType, self: Array, shifts: Sequence[int], dims: Sequence[int]) -> Array:
    """Move the elements along dimensions, or along all of them in row-major order; what falls off comes in again."""
    if not self.size or not self.ndim:
        return self
    if not dims:
        return _rolled(xp, self.reshape(-1), shifts[0], 0).reshape(self.shape)
    result = self
    for shift, dim in zip(shifts, dims, strict=True):
        result = _rolled(xp, result, shift, dim)
    return result


def _rolled(xp: ModuleType, self: Array, shift: int, dim: int) -> Array:
    """Return the elements with those behind a position of a dimension first."""
    before = (slice(None),) * (dim % self.ndim)
    position = -shift % self.shape[dim]
    return xp.concatenate((self[(*before, slice(position, None))], self[(*before, slice(position))]), axis=dim)


def rot90(xp: ModuleType, self: Array, k: int, dims: Sequence[int]) -> Array:
    """Turn by `k` right angles, from the first of two dimensions towards the second."""
    return xp.rot90(self, k, tuple(dims))


@compiled
def repeat(xp: ModuleType, self: Array, repeats: Sequence[int]) -> Array:
    """Return the whole array so many times along each dimension."""
    new = len(repeats) - self.ndim
    shape, tiled, result = [], list(repeats[:new]), list(repeats[:new])
    for size, times in zip(self.shape, repeats[new:], strict=True):
        shape += [1, size]
        tiled += [times, size]
        result.append(times * size)
    if 0 in result:
        return xp.empty(tuple(result), self.dtype)
    check_countable(tuple(result), self.itemsize)
    return xp.broadcast_to(self.reshape(shape), tiled).reshape(result)


@interruptible
def counted(xp: ModuleType, repeats: Array, output_size: int | None) -> Array:
    """Return each position as many times as its count says (`repeat_interleave.Tensor`)."""
    check_repeats(repeats)
    if bool((repeats < 0).any()):
        raise RuntimeError("repeat_interleave: repeats must not be negative")
    if output_size is not None and int(repeats.sum()) != output_size:
        raise RuntimeError(f"repeat_interleave: the repeats do not add up to the output size, {output_size}")
    # CuPy repeats by one count alone, so positions come from where each one's elements end.
    ends = xp.cumsum(repeats, dtype=int64)
    total = int(ends[-1]) if repeats.size else 0
    return xp.searchsorted(ends, xp.arange(total), side="right").astype(repeats.dtype, copy=False)


def check_repeats(repeats: Array) -> None:
    """Raise RuntimeError unless the repeats are a vector of integers."""
    if repeats.ndim != 1:
        raise RuntimeError(f"repeat_interleave: expected a vector of repeats, but got {repeats.ndim} dimensions")
    if repeats.dtype.name not in ("int32", "int64"):
        raise RuntimeError(f"repeat_interleave: expected repeats of int32 or int64, but got {repeats.dtype}")


def narrow_copy(xp: ModuleType, self: Array, dim: int, start: int, length: int) -> Array:
    """Return `length` positions of `dim` from `start` on."""
    first = start + self.shape[dim] if start < 0 else start
    return take_slice(xp, self, dim, first, first + length, 1)


@compiled
def diag_embed(xp: ModuleType, self: Array, offset: int, dim1: int, dim2: int) -> Array:
    """Return matrices of zeros, with the last dimension of `self` on a diagonal."""
    result = xp.zeros(rules.with_diagonal(self, offset, dim1, dim2).shape, self.dtype)
    diagonal(xp, result, offset, dim1, dim2)[...] = self
    return result


def block_diag(xp: ModuleType, tensors: Sequence[Array]) -> Array:
    """Return matrices along the diagonal of one, zeros elsewhere."""
    plan = rules.block_diagonal(tensors)
    result = xp.zeros(plan.shape, plan.dtype)
    row = column = 0
    for each in tensors:
        rows, columns = each.shape if each.ndim == 2 else (1, each.shape[0] if each.ndim else 1)
        result[row : row + rows, column : column + columns] = each
        row, column = row + rows, column + columns
    return result


def slice_scatter(
    xp: ModuleType, self: Array, src: Array, dim: int, start: int | None, end: int | None, step: int
) -> Array:
    """Return `self` with `src` instead of a slice."""
    result = self.copy(order="K")
    take_slice(xp, result, dim, start, end, step)[...] = src
    return result


def select_scatter(xp: ModuleType, self: Array, src: Array, dim: int, index: int) -> Array:
    """Return `self` with `src` at one position of a dimension."""
    result = self.copy(order="K")
    dim = wrap_dim(dim, result.ndim)
    first = index + result.shape[dim] if index < 0 else index
    take_slice(xp, result, dim, first, first + 1, 1).squeeze(dim)[...] = src
    return result


def diagonal_scatter(xp: ModuleType, self: Array, src: Array, offset: int, dim1: int, dim2: int) -> Array:
    """Return `self` with `src` instead of a diagonal."""
    result = self.copy(order="K")
    diagonal(xp, result, offset, dim1, dim2)[...] = src
    return result


def tril_indices(
    xp: ModuleType, row: int, col: int, offset: int, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Return the row and the column of each element on and below a diagonal, row by row."""
    return lower_positions(xp, row, col, offset)


@compiled
def lower_positions(xp: ModuleType, row: int, col: int, offset: int) -> Array:
    """Return the row and the column of each element on and below a diagonal."""
    return xp.stack(xp.nonzero(_lower(xp, row, col, offset)))


def triu_indices(
    xp: ModuleType, row: int, col: int, offset: int, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Return the row and the column of each element on and above a diagonal, row by row."""
    return upper_positions(xp, row, col, offset)


@compiled
def upper_positions(xp: ModuleType, row: int, col: int, offset: int) -> Array:
    """Return the row and the column of each element on and above a diagonal."""
    return xp.stack(xp.nonzero(~_lower(xp, row, col, offset - 1)))


@compiled
def lower_triangle(xp: ModuleType, self: Array, diagonal: int) -> Array:
    """Return the lower triangle, with 0 above a diagonal (`tril`)."""
    return xp.tril(self, _within(diagonal, self))


@compiled
def upper_triangle(xp: ModuleType, self: Array, diagonal: int) -> Array:
    """Return the upper triangle, with 0 below a diagonal (`triu`)."""
    return xp.triu(self, _within(diagonal, self))


def _within(diagonal: int, matrix: Array) -> int:
    """Return a diagonal of the same triangle that is not far outside: NumPy adds to it in 64 bits."""
    rows, columns = matrix.shape[-2:]
    return min(max(diagonal, -int(rows) - 1), int(columns) + 1)


def _lower(xp: ModuleType, row: int, col: int, offset: int) -> Array:
    """Whether each element of a matrix stands on or below a diagonal."""
    check_countable((row, col), 8)
    return xp.tri(row, col, max(-row, min(offset, col)), dtype=bool)


def channel_shuffle(xp: ModuleType, self: Array, groups: int) -> Array:
    """Return the first channel of each group, then the second of each, and so on."""
    batch, channels, *rest = self.shape
    grouped = self.reshape(batch, groups, channels // groups, *rest)
    return xp.swapaxes(grouped, 1, 2).reshape(self.shape)


def pixel_shuffle(xp: ModuleType, self: Array, upscale_factor: int) -> Array:
    """Return each `factor`² channels as squares of pixels."""
    *batch, channels, height, width = self.shape
    factor = upscale_factor
    lead = len(batch)
    cut = self.reshape(*batch, channels // (factor * factor), factor, factor, height, width)
    order = (*range(lead + 1), lead + 3, lead + 1, lead + 4, lead + 2)
    return cut.transpose(order).reshape(rules.pixels_from_channels(self, factor).shape)


def pixel_unshuffle(xp: ModuleType, self: Array, downscale_factor: int) -> Array:
    """Return squares of pixels as `factor`² channels each."""
    *batch, channels, height, width = self.shape
    factor = downscale_factor
    lead = len(batch)
    cut = self.reshape(*batch, channels, height // factor, factor, width // factor, factor)
    order = (*range(lead + 1), lead + 2, lead + 4, lead + 1, lead + 3)
    return cut.transpose(order).reshape(rules.channels_from_pixels(self, factor).shape)
