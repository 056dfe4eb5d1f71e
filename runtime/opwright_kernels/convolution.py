"""Convolution by products of matrices: windows become columns, and the weight of each group one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from opwright.core import compiled
from opwright_kernels.rules.convolution import transposed_size
from opwright_kernels.rules.windows import per_dimension
from opwright_kernels.windows import has_channels_last, padded, sum_of_windows, windows

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
        result = _convolved(xp, padded(xp, input, pads), weight, steps, spread, groups)
    if bias is not None:
        result += bias.reshape(-1, *(1,) * ndim)
    return result


def _convolved(xp: ModuleType, image: Array, weight: Array, stride: Sizes, dilation: Sizes, groups: int) -> Array:
    found = windows(xp, image, weight.shape[2:], stride, dilation)
    ndim = weight.ndim - 2
    is_wide = weight.shape[1] == 1 and groups == weight.shape[0] > 1 and found.shape[1 + ndim] >= _WIDE_ROW
    if is_wide and found.size and not has_channels_last(image):
        return _by_places(xp, found, weight)
    counts = found.shape[2 : 2 + ndim]
    batch, kept = found.shape[0], weight.shape[0]
    if not found.size or not kept:
        return xp.zeros((batch, kept, *counts), image.dtype)
    block = max(_COLUMN_BYTES // (found[0].size * image.itemsize), 1)
    if groups == 1 and has_channels_last(image):
        rows = xp.empty((batch, prod(counts), kept), image.dtype)
        for start in range(0, batch, block):
            _rows_product(xp, found[start : start + block], weight, rows[start : start + block])
        return xp.moveaxis(rows.reshape(batch, *counts, kept), -1, 1)
    result = xp.empty((batch, groups, kept // groups, prod(counts)), image.dtype)
    for start in range(0, batch, block):
        _columns_product(xp, found[start : start + block], weight, result[start : start + block])
    return result.reshape(batch, kept, *counts)


def _by_places(xp: ModuleType, found: Array, weight: Array) -> Array:
    """Convolve each channel by itself: a product for each place of the kernel, since a matrix of one row gains nothing
    from columns."""
    ndim = weight.ndim - 2
    result = xp.empty(found.shape[: 2 + ndim], found.dtype)
    factors = weight.reshape(weight.shape[0], -1, *(1,) * ndim)
    step = max(1, _COLUMN_BYTES // 4 * len(result) // max(1, result.nbytes)) if xp is np else len(result)
    places = list(np.ndindex(*weight.shape[2:]))
    for start in range(0, len(result), step):
        part, total = found[start : start + step], result[start : start + step]
        xp.multiply(part[(..., *places[0])], factors[:, 0], out=total)
        product = xp.empty_like(total)
        for number, place in enumerate(places[1:], 1):
            total += xp.multiply(part[(..., *place)], factors[:, number], out=product)
    return result


def input_gradient(grad: Array, weight: Array, padding: Sizes, dilation: Sizes, groups: int) -> Array | None:
    """Return the gradient of a convolution's input where all strides are 1, of NumPy arrays: the convolution with the
    weight turned around. None where the padding is wider than the kernel."""
    kept, each, *kernel = weight.shape
    lists = zip(kernel, padding, dilation, strict=True)
    pads = [gap * (extent - 1) - pad for extent, pad, gap in lists]
    if min(pads) < 0:
        return None
    turned = np.flip(weight, tuple(range(2, weight.ndim))).reshape(groups, kept // groups, each, *kernel)
    other = np.ascontiguousarray(turned.swapaxes(1, 2)).reshape(groups * each, kept // groups, *kernel)
    return _convolved(np, padded(np, grad, pads), other, [1] * len(kernel), dilation, groups)


def weight_gradient(
    image: Array, grad: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """Return the gradient of a convolution's weight, of NumPy arrays: of each group a product of its gradients with the
    columns of its windows."""
    kept, each, *kernel = shape
    found = windows(np, padded(np, image, padding), kernel, stride, dilation)
    ndim = len(kernel)
    result = np.zeros((groups, kept // groups, each * prod(kernel)), grad.dtype)
    block = max(_COLUMN_BYTES // (found[0].size * image.itemsize), 1)
    order = (1, *range(2 + ndim, 2 + 2 * ndim), 0, *range(2, 2 + ndim))
    for start in range(0, len(grad), block):
        columns = found[start : start + block].transpose(order).reshape(groups, each * prod(kernel), -1)
        rows = grad[start : start + block].swapaxes(0, 1).reshape(groups, kept // groups, -1)
        result += np.matmul(rows, columns.swapaxes(1, 2))
    return result.reshape(shape)


def _columns_product(xp: ModuleType, found: Array, weight: Array, out: Array) -> None:
    """Multiply each group's weight by the columns of its channels' windows."""
    batch, groups, kept, count = out.shape
    ndim = weight.ndim - 2
    inner, outer = range(2 + ndim, 2 + 2 * ndim), range(2, 2 + ndim)
    columns = found.transpose(0, 1, *inner, *outer).reshape(batch, groups, prod(weight.shape[1:]), count)
    xp.matmul(weight.reshape(groups, kept, prod(weight.shape[1:])), columns, out=out)


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
