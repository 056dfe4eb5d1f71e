"""Images of another size: each element is a weighted sum of a few, dimension by dimension.

`scales` says for each dimension by how much the image grows, None where that follows from the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import float32, float64, int64, uint8
from opwright_core.core import compiled
from opwright_core.rules.dimensions import check_room
from opwright_kernels.images.windows import has_channels_last
from opwright_kernels.special_functions.approximation import in_rows

Array = Any
Sizes = Sequence[int]
# For one dimension: which element, and how much of it; None: all.
Taps = list[tuple[Array, Array | None]]
Steps = Sequence[tuple[int, Taps]]

_TAP_BYTES = 32  # of what is computed for a position along a dimension

# The free coefficient of cubic convolution, as in PyTorch.
_CUBIC = -0.75


@compiled
def upsample_nearest(xp: ModuleType, self: Array, output_size: Sizes, *scales: float | None) -> Array:
    """Return the element below each position."""
    return _resized(xp, self, output_size, scales, _nearest, 0.0)


@compiled
def upsample_nearest_exact(xp: ModuleType, self: Array, output_size: Sizes, *scales: float | None) -> Array:
    """Return the element nearest to each position's centre."""
    return _resized(xp, self, output_size, scales, _nearest, 0.5)


@compiled
def upsample_linear(
    xp: ModuleType, self: Array, output_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    """Interpolate linearly in each dimension; `align_corners`: the first and the last elements stay where they are."""
    return _resized(xp, self, output_size, scales, _linear, align_corners)


@compiled
def upsample_cubic(
    xp: ModuleType, self: Array, output_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    """Convolve with a cubic in each dimension; beyond its ends the image goes on as it ends."""
    return _resized(xp, self, output_size, scales, _cubic, align_corners)


@compiled
def upsample_linear_antialiased(
    xp: ModuleType, self: Array, output_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    """Interpolate linearly, by triangles as wide as the image shrinks."""
    return _resized(xp, self, output_size, scales, _spread, _triangle, 1, align_corners)


@compiled
def upsample_cubic_antialiased(
    xp: ModuleType, self: Array, output_size: Sizes, align_corners: bool, *scales: float | None
) -> Array:
    """Convolve with cubics as wide as the image shrinks."""
    return _resized(xp, self, output_size, scales, _spread, _bump, 2, align_corners)


def _resized(
    xp: ModuleType,
    self: Array,
    output_size: Sizes,
    scales: Sequence[float | None],
    taps: Callable[..., Taps],
    *options: Any,
) -> Array:
    is_last = has_channels_last(self)
    images = xp.moveaxis(self, 1, -1) if is_last else self.reshape(-1, *self.shape[2:])
    compute = float64 if self.dtype == float64 else float32
    check_room(sum(output_size), _TAP_BYTES)
    check_room(math.prod((*self.shape[:2], *output_size)), self.dtype.itemsize)
    sizes = zip(images.shape[1 : len(output_size) + 1], output_size, scales, strict=True)
    found = _kept if xp is np else _found
    steps = [(dim, found(xp, taps, *options, *each, compute)) for dim, each in enumerate(sizes, 1)]
    steps.reverse()  # whole rows are taken fastest, and the last steps take the most
    result = in_rows(xp, lambda some: _stepped(xp, some, steps), images)
    return xp.moveaxis(result, -1, 1) if is_last else result.reshape(*self.shape[:2], *output_size)


def _found(xp: ModuleType, taps: Callable[..., Taps], *given: Any) -> Taps:
    return taps(xp, *given)


_kept = lru_cache(maxsize=256)(_found)  # of the CPU: images of one size follow each other


def _stepped(xp: ModuleType, images: Array, steps: Steps) -> Array:
    for dim, taps in steps:
        images = _along(xp, images, dim, taps)
    return images


def _along(xp: ModuleType, self: Array, dim: int, taps: Taps) -> Array:
    if self.dtype == uint8 and taps[0][1] is not None:
        return _along_bytes(xp, self, dim, taps)
    total = None
    for index, weight in taps:
        part = xp.take(self, index, axis=dim)
        if weight is not None:
            part *= weight.reshape(-1, *(1,) * (self.ndim - dim - 1))
        total = part if total is None else xp.add(total, part, out=total)
    return total


def _along_bytes(xp: ModuleType, self: Array, dim: int, taps: Taps) -> Array:
    """Return sums with weights of 15 bits, rounded after each dimension, as PyTorch has them for bytes."""
    weights = xp.stack([weight for _, weight in taps])
    most, bits = float(weights.max()), 0
    while bits < 22 and int(0.5 + most * (1 << bits + 1)) < 1 << 15:
        bits += 1
    whole = xp.trunc(weights * (1 << bits) + xp.where(weights < 0, -0.5, 0.5)).astype(int64)
    total = 1 << bits >> 1
    for (index, _), weight in zip(taps, whole, strict=True):
        total = total + xp.take(self, index, axis=dim) * weight.reshape(-1, *(1,) * (self.ndim - dim - 1))
    return xp.clip(total >> bits, 0, 255).astype(self.dtype)


def _step(size: int, wanted: int, scale: float | None, dtype: Any) -> Any:
    """Return how far positions of the result are apart in the image."""
    if scale is not None and scale > 0:
        return dtype.type(1.0 / scale)
    return dtype.type(size) / dtype.type(wanted)


def _whole_until(xp: ModuleType, places: Array, most: int) -> Array:
    """Return the whole numbers before places, `most` for those behind it and for NaN: tiny scales put places where no
    integer is, and what casts give there depends on the processor."""
    return xp.fmin(xp.floor(places).astype(float64), most).astype(int64)


def _nearest(xp: ModuleType, offset: float, size: int, wanted: int, scale: float | None, dtype: Any) -> Taps:
    indices = (xp.arange(wanted, dtype=dtype) + dtype.type(offset)) * _step(size, wanted, scale, dtype)
    return [(_whole_until(xp, indices, size - 1), None)]


def _places(xp: ModuleType, align_corners: bool, size: int, wanted: int, scale: float | None, dtype: Any) -> Array:
    """Return where the elements of the result lie in the image, whose elements' centres are the whole numbers."""
    number = xp.arange(wanted, dtype=dtype)
    if align_corners:
        return number * (dtype.type(size - 1) / dtype.type(wanted - 1) if wanted > 1 else dtype.type(0))
    half = dtype.type(0.5)
    # Rounded once, as a processor multiplies and subtracts.
    exact = (number + half).astype(float64) * float(_step(size, wanted, scale, dtype)) - 0.5
    return exact.astype(dtype)


def _linear(xp: ModuleType, align_corners: bool, size: int, wanted: int, scale: float | None, dtype: Any) -> Taps:
    indices = xp.maximum(_places(xp, align_corners, size, wanted, scale, dtype), dtype.type(0))
    lower = _whole_until(xp, indices, size - 1)
    part = xp.clip(indices - lower.astype(dtype), 0, 1)
    return [(lower, 1 - part), (xp.minimum(lower + 1, size - 1), part)]


def _cubic(xp: ModuleType, align_corners: bool, size: int, wanted: int, scale: float | None, dtype: Any) -> Taps:
    indices = _places(xp, align_corners, size, wanted, scale, dtype)
    lower = _whole_until(xp, indices, size - 1)
    part = xp.clip(indices - lower.astype(dtype), 0, 1)
    weights = (_outer(part + 1), _inner(part), _inner(1 - part), _outer(2 - part))
    return [(xp.clip(lower + at, 0, size - 1), weight) for at, weight in zip((-1, 0, 1, 2), weights, strict=True)]


def _inner(distance: Array) -> Array:
    """Return the weight of an element less than 1 away."""
    return ((_CUBIC + 2) * distance - (_CUBIC + 3)) * distance * distance + 1


def _outer(distance: Array) -> Array:
    """Return the weight of an element from 1 to 2 away."""
    return ((_CUBIC * distance - 5 * _CUBIC) * distance + 8 * _CUBIC) * distance - 4 * _CUBIC


def _spread(
    xp: ModuleType,
    filter: Callable[..., Array],
    reach: int,
    align_corners: bool,
    size: int,
    wanted: int,
    scale: float | None,
    dtype: Any,
) -> Taps:
    """Return the elements within `reach` of each position, in steps of the result where these are the longer."""
    if align_corners:
        step = (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    else:
        step = 1 / scale if scale is not None and scale > 0 else size / wanted
    widened = max(step, 1.0)
    centre = step * (xp.arange(wanted) + 0.5)
    first = _whole_until(xp, xp.fmax(centre - reach * widened + 0.5, 0), size)
    count = _whole_until(xp, centre + reach * widened + 0.5, size) - first
    numbers = xp.arange(int(count.max()))[:, None]
    weights = xp.where(numbers < count, filter(xp, xp.abs(numbers + first - centre + 0.5) / widened), 0.0)
    total = weights.sum(0)
    weights = (weights / xp.where(total == 0, 1.0, total)).astype(dtype)
    return list(zip(xp.minimum(first + numbers, size - 1), weights, strict=True))


def _triangle(xp: ModuleType, distance: Array) -> Array:
    return xp.maximum(1 - distance, 0.0)


def _bump(xp: ModuleType, distance: Array) -> Array:
    """Return the cubic whose free coefficient is -1/2, as filters that widen have it."""
    inner = (1.5 * distance - 2.5) * distance * distance + 1
    outer = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    return xp.where(distance < 1, inner, xp.where(distance < 2, outer, 0.0))
