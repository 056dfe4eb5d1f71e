"""Windows of arrays, as views, and their sums: what convolution, `im2col` and `col2im` are made of.

Images are (N, C, *sizes). Windows count from the start of each dimension, `stride` apart; the elements of one are
`dilation` apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from types import ModuleType
from typing import Any

from opwright_core.arrays.layouts import check_countable
from opwright_core.core import compiled
from opwright_kernels.moving.shapes import strided
from opwright_kernels.rules.windows import per_dimension

Array = Any
Sizes = Sequence[int]


def padded(xp: ModuleType, image: Array, padding: Sizes) -> Array:
    """Return the image with zeros on both sides of its last dimensions; itself where there are none."""
    if not any(padding):
        return image
    sizes = [size + 2 * pad for size, pad in zip(image.shape[2:], padding, strict=True)]
    result = _zeros_like_laid(xp, image, sizes)
    result[(..., *(slice(pad, size - pad) for pad, size in zip(padding, sizes, strict=True)))] = image
    return result


def _zeros_like_laid(xp: ModuleType, image: Array, sizes: Sizes) -> Array:
    check_countable((*image.shape[:2], *sizes), image.itemsize)
    if not has_channels_last(image):
        return xp.zeros((*image.shape[:2], *sizes), image.dtype)
    return xp.moveaxis(xp.zeros((image.shape[0], *sizes, image.shape[1]), image.dtype), -1, 1)


def has_channels_last(image: Array) -> bool:
    """Whether neighbours in memory are neighbours among the channels."""
    steps = image.strides
    return bool(image.ndim > 2 and image.shape[1] > 1 and steps[1] == image.itemsize < min(steps[2:]))


def windows(xp: ModuleType, image: Array, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Array:
    """Return a view of shape (N, C, *windows, *kernel)."""
    lists = zip(image.shape[2:], kernel, stride, dilation, strict=True)
    counts = [(size - gap * (extent - 1) - 1) // step + 1 for size, extent, step, gap in lists]
    steps = image.strides[2:]
    outer = [step * each for step, each in zip(steps, stride, strict=True)]
    inner = [step * each for step, each in zip(steps, dilation, strict=True)]
    shape = (*image.shape[:2], *counts, *kernel)
    return strided(xp, image, shape, (*image.strides[:2], *outer, *inner))


@compiled
def columns_of(
    xp: ModuleType, image: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, beside: bool
) -> Array:
    """Return the windows of the image with zeros around it, each a column of all channels' elements: (N, rows, windows)
    or, with the images beside each other, (rows, N * windows)."""
    found = windows(xp, padded(xp, image, padding), kernel, stride, dilation)
    ndim = len(kernel)
    rows, counts = image.shape[1] * prod(kernel), found.shape[2 : 2 + ndim]
    inner, outer = range(2 + ndim, 2 + 2 * ndim), range(2, 2 + ndim)
    if beside:
        return found.transpose(1, *inner, 0, *outer).reshape(rows, len(image) * prod(counts))
    return found.transpose(0, 1, *inner, *outer).reshape(len(image), rows, prod(counts))


@compiled
def sum_of_windows(
    xp: ModuleType, columns: Array, sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> Array:
    """Return the image of `sizes` whose elements are the sums of the windows (N, C, *kernel, *windows) there.

    What lies in the padding is dropped.
    """
    counts = columns.shape[2 + len(kernel) :]
    lists = zip(sizes, padding, counts, kernel, stride, dilation, strict=True)
    full = [
        max(size + pad, (count - 1) * step + (extent - 1) * gap + 1) for size, pad, count, extent, step, gap in lists
    ]
    result = xp.zeros((*columns.shape[:2], *full), columns.dtype)
    for index in itertools.product(*map(range, kernel)):
        reached = [
            slice(at * gap, at * gap + (count - 1) * step + 1, step)
            for at, count, step, gap in zip(index, counts, stride, dilation, strict=True)
        ]
        result[(..., *reached)] += columns[(slice(None), slice(None), *index)]
    return result[(..., *(slice(pad, pad + size) for pad, size in zip(padding, sizes, strict=True)))]


def im2col(xp: ModuleType, self: Array, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Array:
    """Return the windows of an image, each a column of all channels' elements."""
    kernel, spread, pads, steps = (per_dimension("", each, 2) for each in (kernel_size, dilation, padding, stride))
    batched = self if self.ndim == 4 else self[None]
    columns = columns_of(xp, batched, kernel, steps, pads, spread, False)
    return columns if self.ndim == 4 else columns[0]


def col2im(
    xp: ModuleType,
    self: Array,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
) -> Array:
    """Return the image whose windows are the columns; where they overlap their sum."""
    lists = (output_size, kernel_size, dilation, padding, stride)
    sizes, kernel, spread, pads, steps = (per_dimension("", each, 2) for each in lists)
    batched = self if self.ndim == 3 else self[None]
    free = zip(sizes, kernel, steps, pads, spread, strict=True)
    counts = [(size + 2 * pad - gap * (extent - 1) - 1) // step + 1 for size, extent, step, pad, gap in free]
    channels = batched.shape[1] // (kernel[0] * kernel[1])
    columns = batched.reshape(batched.shape[0], channels, *kernel, *counts)
    image = sum_of_windows(xp, columns, sizes, kernel, steps, pads, spread)
    return image if self.ndim == 3 else image[0]
