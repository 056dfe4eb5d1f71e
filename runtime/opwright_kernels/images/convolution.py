"""Convolution by products of matrices: windows become columns, and the weight of each group one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.core import compiled
from opwright_kernels.images.windows import columns_of, has_channels_last, padded, sum_of_windows, windows
from opwright_kernels.rules.convolution import transposed_size
from opwright_kernels.rules.windows import per_dimension

Array = Any
Sizes = Sequence[int]

# Columns are made for as many images at a time as fit into this many bytes, and into a core's second-level cache.
_COLUMN_BYTES = 1 << 20
# Rows of a result from which on the loop over one is longer than what it takes to begin it.
_WIDE_ROW = 48


@compiled
def convolution(
    xp: ModuleType,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Array:
    """Convolve (N, C, *sizes) with (O, C / groups, *kernel); transposed with (C, O / groups, *kernel). The rule
    `convolution` has checked the sizes."""
    ndim = weight.ndim - 2
    steps, pads, spread, added = (per_dimension("", each, ndim) for each in (stride, padding, dilation, output_padding))
    if transposed:
        result = _transposed(xp, input, weight, steps, pads, spread, added, groups)
    else:
        result = _convolved(xp, input, weight, steps, pads, spread, groups)
    if bias is not None:
        result += bias.reshape(-1, *(1,) * ndim)
    return result


def _convolved(
    xp: ModuleType, image: Array, weight: Array, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    batch, kept, kernel = len(image), len(weight), weight.shape[2:]
    lists = zip(image.shape[2:], kernel, stride, padding, dilation, strict=True)
    counts = [(size + 2 * pad - gap * (extent - 1) - 1) // step + 1 for size, extent, step, pad, gap in lists]
    if not batch or not weight.size or not prod(counts):
        return xp.zeros((batch, kept, *counts), image.dtype)
    if has_channels_last(image):
        is_single = groups == 1
    else:
        is_single = weight.shape[1] == 1 and groups == kept > 1 and counts[-1] >= _WIDE_ROW
    if is_single:
        found = windows(xp, padded(xp, image, padding), kernel, stride, dilation)
        return _by_rows(xp, found, weight) if groups == 1 else _by_places(xp, found, weight)
    block = max(_COLUMN_BYTES // (image.shape[1] * prod(kernel) * prod(counts) * image.itemsize), 1)
    result = xp.empty((batch, groups, kept // groups, prod(counts)), image.dtype)
    matrices = weight.reshape(groups, kept // groups, prod(weight.shape[1:]))
    for start in range(0, batch, block):
        columns = columns_of(xp, image[start : start + block], kernel, stride, padding, dilation, False)
        out = result[start : start + block]
        xp.matmul(matrices, columns.reshape(len(out), groups, matrices.shape[2], prod(counts)), out=out)
    return result.reshape(batch, kept, *counts)


def _by_rows(xp: ModuleType, found: Array, weight: Array) -> Array:
    """Convolve images whose channels lie last, some of them at a time."""
    counts, kept = found.shape[2 : weight.ndim], len(weight)
    rows = xp.empty((len(found), prod(counts), kept), found.dtype)
    block = max(_COLUMN_BYTES // (found[0].size * found.itemsize), 1)
    for start in range(0, len(found), block):
        _rows_product(xp, found[start : start + block], weight, rows[start : start + block])
    return xp.moveaxis(rows.reshape(len(found), *counts, kept), -1, 1)


def _by_places(xp: ModuleType, found: Array, weight: Array) -> Array:
    """Convolve each channel by itself: a product for each position of the kernel, since a matrix of one row gains
    nothing from columns."""
    ndim = weight.ndim - 2
    result = xp.empty(found.shape[: 2 + ndim], found.dtype)
    factors = weight.reshape(weight.shape[0], -1, *(1,) * ndim)
    step = max(1, _COLUMN_BYTES // 4 * len(result) // max(1, result.nbytes)) if xp is np else len(result)
    indices = list(np.ndindex(*weight.shape[2:]))
    for start in range(0, len(result), step):
        part, total = found[start : start + step], result[start : start + step]
        xp.multiply(part[(..., *indices[0])], factors[:, 0], out=total)
        product = xp.empty_like(total)
        for number, index in enumerate(indices[1:], 1):
            total += xp.multiply(part[(..., *index)], factors[:, number], out=product)
    return result


@compiled
def weight_gradient(
    image: Array, grad: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """Return the gradient of a convolution's weight, of NumPy arrays: of each group a product of the columns of its
    windows with its gradients."""
    kept, each, *kernel = shape
    rows = each * prod(kernel)
    result = np.zeros((groups, rows, kept // groups), grad.dtype)
    block = max(_COLUMN_BYTES // (groups * rows * grad[0, 0].size * image.itemsize), 1)
    for start in range(0, len(grad), block):
        part = slice(start, start + block)
        columns = columns_of(np, image[part], kernel, stride, padding, dilation, True).reshape(groups, rows, -1)
        result += np.matmul(columns, grad[part].swapaxes(0, 1).reshape(groups, kept // groups, -1).swapaxes(1, 2))
    return np.ascontiguousarray(result.swapaxes(1, 2)).reshape(shape)


def _rows_product(xp: ModuleType, found: Array, weight: Array, out: Array) -> None:
    """Multiply the windows as rows, channels last as they lie, by the weight."""
    ndim = weight.ndim - 2
    outer, inner = range(2, 2 + ndim), range(2 + ndim, 2 + 2 * ndim)
    rows = found.transpose(0, *outer, *inner, 1).reshape(out.shape[0] * out.shape[1], -1)
    turned = weight.transpose(*range(2, 2 + ndim), 1, 0).reshape(-1, weight.shape[0])
    xp.matmul(rows, turned, out=out.reshape(-1, out.shape[2]))


def _transposed(
    xp: ModuleType,
    input: Array,
    weight: Array,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    output_padding: Sizes,
    groups: int,
) -> Array:
    """Convolve transposed: an input element times its weights is a window of the result; overlapping windows add up."""
    kernel, sizes = weight.shape[2:], input.shape[2:]
    lists = zip(sizes, kernel, stride, padding, dilation, output_padding, strict=True)
    wanted = [transposed_size(*each) for each in lists]
    batch, channels, kept = input.shape[0], weight.shape[0], weight.shape[1] * groups
    if not batch or not channels or not kept:
        return xp.zeros((batch, kept, *wanted), input.dtype)
    images = input.reshape(batch, groups, channels // groups, prod(sizes))
    matrices = weight.reshape(groups, channels // groups, -1).swapaxes(1, 2)
    step = max(1, _COLUMN_BYTES // max(1, kept * prod(kernel) * prod(sizes) * input.itemsize)) if xp is np else batch
    if step >= batch:
        columns = xp.matmul(matrices, images).reshape(batch, kept, *kernel, *sizes)
        return sum_of_windows(xp, columns, wanted, kernel, stride, padding, dilation)
    result = xp.empty((batch, kept, *wanted), input.dtype)
    for start in range(0, batch, step):
        part = images[start : start + step]
        columns = xp.matmul(matrices, part).reshape(len(part), kept, *kernel, *sizes)
        result[start : start + step] = sum_of_windows(xp, columns, wanted, kernel, stride, padding, dilation)
    return result
