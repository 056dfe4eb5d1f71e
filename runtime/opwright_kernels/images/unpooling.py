"""Maxima put back to where they came from, and maxima of windows at random positions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from opwright_core.core import compiled

Array = Any
Sizes = Sequence[int]


def max_unpool2d(xp: ModuleType, self: Array, indices: Array, output_size: Sizes) -> Array:
    """Return images of zeros with the elements at their positions. Raises RuntimeError for a position outside of
    them."""
    return _unpooled(xp, self, indices, tuple(output_size))


def max_unpool3d(
    xp: ModuleType, self: Array, indices: Array, output_size: Sizes, stride: Sizes, padding: Sizes
) -> Array:
    """Return volumes of zeros with the elements at their positions. Raises RuntimeError for a position outside of
    them."""
    return _unpooled(xp, self, indices, tuple(output_size))


def _unpooled(xp: ModuleType, self: Array, indices: Array, sizes: tuple[int, ...]) -> Array:
    outer = self.shape[: -len(sizes)]
    count = math.prod(sizes)
    wrong = (indices < 0) | (indices >= count)
    if bool(wrong.any()):
        raise RuntimeError(f"index out of range: {int(indices[wrong][0])} is no place of images of size {list(sizes)}")
    result = xp.zeros((math.prod(outer), count), self.dtype)
    rows = (result.shape[0], math.prod(self.shape[len(outer) :]))
    result[xp.arange(rows[0])[:, None], indices.reshape(rows)] = self.reshape(rows)
    return result.reshape(*outer, *sizes)


@compiled
def fractional_max_pool2d(
    xp: ModuleType, self: Array, kernel_size: Sizes, output_size: Sizes, random_samples: Array
) -> tuple[Array, Array]:
    """Return the largest element of each window and its position in the flattened image."""
    return _fractional(xp, self, kernel_size, output_size, random_samples[..., ::-1])  # the width's number is the first


@compiled
def fractional_max_pool3d(
    xp: ModuleType, self: Array, kernel_size: Sizes, output_size: Sizes, random_samples: Array
) -> tuple[Array, Array]:
    """Return the largest element of each window and its position in the flattened volume."""
    return _fractional(xp, self, kernel_size, output_size, random_samples)


def _fractional(
    xp: ModuleType, self: Array, kernel: Sizes, wanted: Sizes, random_samples: Array
) -> tuple[Array, Array]:
    ndim = len(kernel)
    images = self if self.ndim == ndim + 2 else self[None]
    batch, channels, *sizes = images.shape
    flat = images.reshape(-1)
    starts = [
        _starts(xp, random_samples[:batch, :, dim], *each)
        for dim, each in enumerate(zip(sizes, wanted, kernel, strict=True))
    ]
    corner = _corner(xp, starts, sizes)
    plane = xp.arange(batch * channels).reshape(batch, channels, *(1,) * ndim) * math.prod(sizes)
    indices = itertools.product(*map(range, kernel))
    index = corner + plane
    best = flat.take(index) if math.prod(kernel) else xp.full(index.shape, -math.inf, self.dtype)
    for place in itertools.islice(indices, 1, None):
        spot = corner + (plane + _offset(place, sizes))
        candidate = flat.take(spot)
        larger = candidate > best
        larger |= candidate != candidate
        xp.copyto(best, candidate, where=larger)
        xp.copyto(index, spot, where=larger)
    shape = (*self.shape[:-ndim], *wanted)
    return best.reshape(shape), (index - plane).reshape(shape)


def _offset(index: Sequence[int], sizes: Sizes) -> int:
    """Return how far behind a window's first position another one of it lies in the flattened image."""
    result = 0
    for at, size in zip(index, sizes, strict=True):
        result = result * size + at
    return result


def _corner(xp: ModuleType, starts: Sequence[Array], sizes: Sizes) -> Array:
    """Return the first position of each window in the flattened image."""
    spot = starts[0]
    for start, size in zip(starts[1:], sizes[1:], strict=True):
        spot = spot[..., None] * size + start.reshape(*start.shape[:2], *(1,) * (spot.ndim - 2), start.shape[2])
    return spot


def _starts(xp: ModuleType, samples: Array, size: int, wanted: int, kernel: int) -> Array:
    """Return where the windows of each image begin: the last at the end, the others in steps of a broken number."""
    last = xp.full((*samples.shape, min(wanted, 1)), size - kernel)
    if wanted < 2:
        return last
    dtype = samples.dtype.type
    step = dtype(size - kernel) / dtype(wanted - 1)
    number = xp.arange(wanted - 1).astype(samples.dtype)
    moved = ((number + samples[..., None]) * step).astype(last.dtype)
    return xp.concatenate([moved - (samples * step).astype(last.dtype)[..., None], last], axis=-1)
