"""Pooling: the maximum or the average of windows over the last dimensions.

Each kernel visits the positions within a window, and at each position all windows at once. The rules `pool` and
`adaptive_pool` have checked the sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from opwright_core.arrays.dtypes import FLOATING, int64
from opwright_core.core import compiled
from opwright_kernels.rules.windows import per_dimension, window_count

Array = Any
Sizes = Sequence[int]

_GATHERED = 32768  # elements of windows that are gathered at once


def _window_lists(self: Array, ndim: int, *options: Any) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Return kernel, stride, padding and dilation, each with a value per dimension, and how many windows there are."""
    kernel_size, stride, padding, dilation, ceil_mode = options
    lists = [per_dimension("", each, ndim) for each in (kernel_size, stride or kernel_size, padding, dilation)]
    rows = zip(*lists, strict=True)
    counts = [
        window_count(size, kernel, step, pad, gap, ceil_mode)
        for size, (kernel, step, pad, gap) in zip(self.shape[-ndim:], rows, strict=True)
    ]
    return lists, tuple(counts)


@compiled
def max_pool2d(
    xp: ModuleType, self: Array, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Array, Array]:
    """Return the largest element of each window and its position in the flattened image; NaN counts as the largest."""
    return _largest(xp, self, 2, kernel_size, stride, padding, dilation, ceil_mode)


@compiled
def max_pool3d(
    xp: ModuleType, self: Array, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Array, Array]:
    """Return the largest element of each window and its position in the flattened image; NaN counts as the largest."""
    return _largest(xp, self, 3, kernel_size, stride, padding, dilation, ceil_mode)


def _largest(xp: ModuleType, self: Array, ndim: int, *options: Any) -> tuple[Array, Array]:
    (kernel, stride, padding, dilation), counts = _window_lists(self, ndim, *options)
    sizes = self.shape[-ndim:]
    best = _lowest(xp, self, counts)
    starts = [xp.arange(count) * step - pad for count, step, pad in zip(counts, stride, padding, strict=True)]
    if 0 < best.size * math.prod(kernel) <= _GATHERED:
        indices = [_places_within(xp, *each) for each in zip(starts, kernel, dilation, sizes, strict=True)]
        if all(bool((each >= 0).all()) for each in indices):
            return _filled(xp, best, _largest_gathered(xp, self, indices))
    # Which position of each window is the largest, by number; at first that which is not padding, for windows in which
    # nothing is larger than the lowest.
    first = [xp.maximum(-(start // gap), 0) for start, gap in zip(starts, dilation, strict=True)]
    number = xp.empty_like(best, dtype=xp.min_scalar_type(math.prod(kernel)))
    number[...] = _flat_place(first, kernel)
    has_nan = self.size and self.dtype in FLOATING and bool(xp.isnan(self.max()))
    indices = list(itertools.product(*map(range, kernel)))
    for which, place in enumerate(indices):
        spots = [
            visited(size, count, at * gap - pad, step)
            for size, count, at, gap, pad, step in zip(sizes, counts, place, dilation, padding, stride, strict=True)
        ]
        reached = (..., *(outer for outer, _ in spots))
        candidate = self[(..., *(inner for _, inner in spots))]
        larger = candidate > best[reached]
        if has_nan:
            larger |= candidate != candidate
        xp.maximum(best[reached], candidate, out=best[reached])
        # Later numbers are larger, so that the largest is the last that was larger: no branch for each element.
        xp.maximum(number[reached], larger * number.dtype.type(which), out=number[reached])
    offsets = _flat_place([xp.arange(extent) * gap for extent, gap in zip(kernel, dilation, strict=True)], sizes)
    index = xp.take(offsets.reshape(-1), number)
    index += _flat_place(starts, sizes)
    return best, index


def _places_within(xp: ModuleType, start: Array, kernel: int, gap: int, size: int) -> Array:
    """Return the positions of each window, the nearest ones within the image for those outside; -1 where there is
    none."""
    first, last = xp.maximum(-(start // gap), 0), xp.minimum((size - 1 - start) // gap, kernel - 1)
    at = xp.minimum(xp.maximum(xp.arange(kernel), first[:, None]), last[:, None])
    return xp.where((first <= last)[:, None], start[:, None] + at * gap, -1)


def _filled(xp: ModuleType, best: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return what was found, its dimensions in memory ordered as those of `best`."""
    if best.flags.c_contiguous:
        return found
    index = xp.empty_like(best, dtype=int64)
    best[...], index[...] = found
    return best, index


def _lowest(xp: ModuleType, self: Array, counts: Sizes) -> Array:
    """Return the result before any element is seen; its dimensions in memory ordered as those of `self`."""
    least = -float("inf") if self.dtype in FLOATING else int(ml_dtypes.iinfo(self.dtype).min)  # type: ignore[no-untyped-call]
    lead = self.ndim - len(counts)
    shape = (*self.shape[:lead], *counts)
    if self.ndim > 2 and self.strides[lead - 1] < min(self.strides[lead:]):
        shape = (*shape[: lead - 1], *counts, shape[lead - 1])
        return xp.moveaxis(xp.full(shape, least, self.dtype), -1, lead - 1)
    return xp.full(shape, least, self.dtype)


def _flat_place(indices: Sequence[Array], sizes: Sizes) -> Array:
    """Return positions per dimension as positions in the flattened image, by broadcasting."""
    result = indices[0]
    for each, size in zip(indices[1:], sizes[1:], strict=True):
        result = result[..., None] * size + each
    return result


def visited(size: int, count: int, offset: int, step: int) -> tuple[slice, slice]:
    """Return which of `count` windows have a position `offset` behind their start in the image, and where that is."""
    first = max(-(offset // step), 0) if offset < 0 else 0
    last = min((size - 1 - offset) // step, count - 1)
    number = max(last - first + 1, 0)
    start = first * step + offset
    stop = start + (number - 1) * step + 1 if number else start
    return slice(first, first + number), slice(start, stop, step)


@compiled
def avg_pool2d(
    xp: ModuleType,
    self: Array,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """Return the sum of each window over its number of elements, of those within the image, or `divisor_override`."""
    return _average(xp, self, 2, (kernel_size, stride, padding, (1,), ceil_mode), count_include_pad, divisor_override)


@compiled
def avg_pool3d(
    xp: ModuleType,
    self: Array,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """Return the sum of each window over its number of elements, of those within the image, or `divisor_override`."""
    return _average(xp, self, 3, (kernel_size, stride, padding, (1,), ceil_mode), count_include_pad, divisor_override)


def _average(
    xp: ModuleType, self: Array, ndim: int, options: tuple[Any, ...], count_include_pad: bool, divisor: int | None
) -> Array:
    (kernel, stride, padding, _), counts = _window_lists(self, ndim, *options)
    sizes = self.shape[-ndim:]
    total = _lowest(xp, self, counts)
    total[...] = 0
    for index in itertools.product(*map(range, kernel)):
        spots = [
            visited(size, count, at - pad, step)
            for size, count, at, pad, step in zip(sizes, counts, index, padding, stride, strict=True)
        ]
        total[(..., *(outer for outer, _ in spots))] += self[(..., *(inner for _, inner in spots))]
    if divisor is None:
        lists = zip(sizes, counts, kernel, stride, padding, strict=True)
        return _divided(xp, total, window_sizes(xp, [*lists], count_include_pad))
    return _divided(xp, total, xp.asarray(divisor))


def window_sizes(xp: ModuleType, lists: Sequence[tuple[int, int, int, int, int]], count_include_pad: bool) -> Array:
    """Return how many positions each window has, from size, count, kernel, stride and padding of each dimension."""
    ends = [(count - 1) * step + kernel <= size + 2 * pad for size, count, kernel, step, pad in lists]
    if count_include_pad and all(ends):  # no window reaches beyond the padding
        return xp.asarray(math.prod(kernel for _, _, kernel, _, _ in lists))
    return _outer_product([_extent(xp, *each, count_include_pad) for each in lists])


def _extent(xp: ModuleType, size: int, count: int, kernel: int, step: int, pad: int, count_include_pad: bool) -> Array:
    """Return how many positions each window of a dimension has: up to the end of the padding, or in the image."""
    start = xp.arange(count) * step - pad
    stop = xp.minimum(start + kernel, size + pad)
    if count_include_pad:
        return stop - start
    return xp.minimum(stop, size) - xp.maximum(start, 0)


def _outer_product(extents: Sequence[Array]) -> Array:
    result = extents[0]
    for each in extents[1:]:
        result = result[..., None] * each
    return result


def _divided(xp: ModuleType, total: Array, divisor: Array) -> Array:
    if total.dtype in FLOATING:
        total /= divisor.astype(total.dtype)
        return total
    # Integers are divided as in C: towards zero.
    return xp.sign(total) * xp.sign(divisor) * (abs(total) // abs(divisor))


# Adaptive pooling: window i of `count` reaches from i * size // count to the next one's start, rounded up.


@compiled
def adaptive_avg_pool(xp: ModuleType, self: Array, output_size: Sizes) -> Array:
    """Return the average of each of `output_size` windows."""
    result = self
    for dim, wanted in enumerate(output_size, self.ndim - len(output_size)):
        result = _averaged_along(xp, result, dim, wanted)
    return result


def _averaged_along(xp: ModuleType, self: Array, dim: int, wanted: int) -> Array:
    size = self.shape[dim]
    if size == wanted:
        return self
    if wanted and size % wanted == 0:
        return self.reshape(*self.shape[:dim], wanted, size // wanted, *self.shape[dim + 1 :]).mean(axis=dim + 1)
    start, length = _adaptive_windows(xp, size, wanted)
    trailing = (1,) * (self.ndim - dim - 1)
    total = xp.zeros((*self.shape[:dim], wanted, *self.shape[dim + 1 :]), self.dtype)
    for at in range(-(-size // wanted) + 1 if wanted else 0):
        inside = (at < length).reshape(-1, *trailing)
        total += xp.where(inside, xp.take(self, xp.minimum(start + at, size - 1), axis=dim), 0)
    total /= length.astype(self.dtype).reshape(-1, *trailing)
    return total


def _adaptive_windows(xp: ModuleType, size: int, wanted: int) -> tuple[Array, Array]:
    """Return where each window starts, and how long it is."""
    number = xp.arange(wanted)
    start = number * size // max(wanted, 1)
    return start, -(-(number + 1) * size // max(wanted, 1)) - start


@compiled
def adaptive_max_pool(xp: ModuleType, self: Array, output_size: Sizes) -> tuple[Array, Array]:
    """Return the largest element of each of `output_size` windows and its position in the flattened image."""
    sizes = self.shape[-len(output_size) :]
    indices = []
    for size, wanted in zip(sizes, output_size, strict=True):
        start, length = _adaptive_windows(xp, size, wanted)
        longest = int(length.max()) if wanted else 0
        indices.append(start[:, None] + xp.minimum(xp.arange(longest), length[:, None] - 1))
    best = _lowest(xp, self, output_size)
    if not best.size:
        return best, xp.empty_like(best, dtype=int64)
    return _filled(xp, best, _largest_gathered(xp, self, indices))


def _largest_gathered(xp: ModuleType, self: Array, indices: Sequence[Array]) -> tuple[Array, Array]:
    """Return the largest element of each window and its position in the flattened image, by the positions of each
    window along each dimension, of which some may be there twice. On the CPU a few windows at a time are gathered."""
    shape = (*self.shape[: -len(indices)], *(len(each) for each in indices))
    sizes = self.shape[-len(indices) :]
    images = self.reshape(-1, math.prod(sizes))
    row = math.prod(each.size for each in indices[1:]) * indices[0].shape[1]  # what one row of windows has
    step = max(1, _GATHERED // row) if xp is np else len(indices[0])
    planes = max(1, _GATHERED // (row * min(step, len(indices[0])))) if xp is np else len(images)
    others = math.prod(len(each) for each in indices[1:])
    best = xp.empty((len(images), len(indices[0]), others), self.dtype)
    index = xp.empty(best.shape, int64)
    for first in range(0, len(indices[0]), step):
        spots = _spots(xp, [indices[0][first : first + step], *indices[1:]], sizes)
        rows = (slice(first, first + step), slice(None))
        for plane in range(0, len(images), planes):
            part = (slice(plane, plane + planes), *rows)
            values, where = _largest_of_rows(xp, images[plane : plane + planes].take(spots, axis=1))
            best[part] = values.reshape(best[part].shape)
            index[part] = spots[xp.arange(len(spots)), where].reshape(best[part].shape)
    return best.reshape(shape), index.reshape(shape)


def _spots(xp: ModuleType, indices: Sequence[Array], sizes: Sizes) -> Array:
    """Return a row of positions in the flattened image for each window."""
    spots = indices[0]
    for each, size in zip(indices[1:], sizes[1:], strict=True):
        spots = (spots[:, None, :, None] * size + each[None, :, None, :]).reshape(
            len(spots) * len(each), spots.shape[1] * each.shape[1]
        )
    return spots


def _largest_of_rows(xp: ModuleType, windows: Array) -> tuple[Array, Array]:
    """Return the largest element of each row and its number: the first one's, but the last of NaN."""
    where = windows.argmax(axis=-1)
    best = xp.take_along_axis(windows, where[..., None], axis=-1)[..., 0]
    nothing = best != best
    if nothing.any():
        where[nothing] = windows.shape[-1] - 1 - xp.isnan(windows[nothing][:, ::-1]).argmax(axis=-1)
    return best, where
