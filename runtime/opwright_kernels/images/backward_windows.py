"""Backward functions of pooling and of images of another size, on NumPy arrays of one dtype, float32 or float64."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from opwright_core.core import compiled
from opwright_kernels.images.pooling import visited, window_sizes

Array = Any
Sizes = Sequence[int]


@compiled
def max_pool_gradient(grad: Array, shape: Sizes, indices: Array, dims: int) -> Array:
    """Return the gradients of all windows that an element is the maximum of, added."""
    outer, inner = prod(shape[: len(shape) - dims]), prod(shape[len(shape) - dims :])
    result = np.zeros(outer * inner, grad.dtype)
    places = indices.reshape(outer, -1) + np.arange(0, outer * inner, inner)[:, None]
    np.add.at(result, places.reshape(-1), grad.reshape(-1))
    return result.reshape(shape)


@compiled
def avg_pool_gradient(
    grad: Array, shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, includes_pad: bool, divisor: int | None
) -> Array:
    """Return the gradients of all windows that hold an element, each over the size of the window, added."""
    dims = len(kernel)
    sizes, counts = shape[len(shape) - dims :], grad.shape[grad.ndim - dims :]
    if divisor is None:
        lists = zip(sizes, counts, kernel, stride, padding, strict=True)
        share = grad / window_sizes(np, [*lists], includes_pad).astype(grad.dtype)
    else:
        share = grad / grad.dtype.type(divisor)
    result = np.zeros(shape, grad.dtype)
    for index in itertools.product(*map(range, kernel)):
        spots = [
            visited(size, count, at - pad, step)
            for size, count, at, pad, step in zip(sizes, counts, index, padding, stride, strict=True)
        ]
        reached: Any = (..., *(inner for _, inner in spots))
        result[reached] += share[(..., *(outer for outer, _ in spots))]
    return result


def repeated_gradient(grad: Array, shape: Sizes) -> Array | None:
    """Return the gradient of an image each of whose elements was repeated as often in each of its last dimensions: sums
    of neighbours. None where sizes are no multiples."""
    dims = range(2, len(shape))
    if any(not shape[dim] or grad.shape[dim] % shape[dim] for dim in dims):
        return None
    result = grad
    for dim in reversed(dims):
        times = grad.shape[dim] // shape[dim]
        before = (slice(None),) * dim
        if times == 1:
            continue
        total = result[(*before, slice(0, None, times))] + result[(*before, slice(1, None, times))]
        for index in range(2, times):
            total += result[(*before, slice(index, None, times))]
        result = total
    return result.copy() if result is grad else result
