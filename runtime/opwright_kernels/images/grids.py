"""Positions at which images are sampled: the elements around each, and how much of each. On Tensors.

Positions are numbers from -1 to 1 across the image. `mode` is 0 (linear), 1 (nearest) or 2 (cubic); `padding` is what
lies beyond the image: 0 (zeros), 1 (its border) or 2 (its reflection).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base
from opwright_core.arrays.dtypes import as_dtype, int64, opmath

Tensor = Any
aten: Any = opwright.ops.aten

# The free coefficient of cubic convolution, as in PyTorch.
_CUBIC = -0.75


@dataclass(frozen=True)
class Tap:
    """An element for each position, in one dimension: which, whether there is one, how much of it (None: all), and how
    fast that grows with the position (None: not at all)."""

    index: Tensor
    inside: Tensor
    weight: Tensor | None
    slope: Tensor | None


@dataclass(frozen=True)
class Options:
    """The last three arguments of `grid_sampler`."""

    mode: int
    padding: int
    align_corners: bool


def sampled(input: Tensor, grid: Tensor, options: Options, along: int | None = None) -> Tensor:
    """Return (N, C, *positions) of images (N, C, *sizes), or how fast that grows with the number `along` of each
    position."""
    sizes, indices = input.shape[2:], grid.shape[1:-1]
    dtype = as_dtype(input.dtype)
    compute = opmath(dtype)
    flat = aten.reshape(aten.to(input, compute), [*input.shape[:2], prod(sizes)])
    total = aten.new_zeros(flat, [*input.shape[:2], prod(indices)])
    for index, inside, weight in _corners(aten.to(grid, compute), sizes, options, along):
        rows = aten.expand(aten.unsqueeze(index, 1), total.shape)
        value = aten.where.ScalarOther(aten.unsqueeze(inside, 1), aten.gather(flat, 2, rows), 0)
        total = total + (value if weight is None else value * aten.unsqueeze(weight, 1))
    return aten.to(without_base(aten.reshape(total, [*input.shape[:2], *indices])), dtype)


def scattered(grad: Tensor, grid: Tensor, shape: Sequence[int], options: Options) -> Tensor:
    """Return the transpose of `sampled`: images of `shape`, each element the sum of what its samples had of it."""
    sizes, indices = shape[2:], grid.shape[1:-1]
    dtype = as_dtype(grad.dtype)
    compute = opmath(dtype)
    flat = aten.reshape(aten.to(grad, compute), [*shape[:2], prod(indices)])
    total = aten.new_zeros(flat, [*shape[:2], prod(sizes)])
    for index, inside, weight in _corners(aten.to(grid, compute), sizes, options, None):
        share = flat if weight is None else flat * aten.unsqueeze(weight, 1)
        share = aten.where.ScalarOther(aten.unsqueeze(inside, 1), share, 0)
        total = aten.scatter_add(total, 2, aten.expand(aten.unsqueeze(index, 1), flat.shape), share)
    return aten.to(aten.reshape(total, list(shape)), dtype)


def _corners(
    grid: Tensor, sizes: Sequence[int], options: Options, along: int | None
) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
    """Yield the elements around positions: number in the flattened image, whether there is one, and how much of it."""
    ndim = len(sizes)
    flat = aten.reshape(grid, [grid.shape[0], prod(grid.shape[1:-1]), ndim])
    # The first number of a position counts along the last dimension.
    lists = [
        [(tap, which == along) for tap in _taps(aten.select(flat, 2, which), sizes[ndim - 1 - which], options)]
        for which in reversed(range(ndim))
    ]
    for corner in itertools.product(*lists):
        index = inside = weight = None
        factors = [tap.slope if is_slope else tap.weight for tap, is_slope in corner]
        if along is not None and any(tap.slope is None for tap, is_slope in corner if is_slope):
            return
        for (tap, _), size, factor in zip(corner, sizes, factors, strict=True):
            index = tap.index if index is None else index * size + tap.index
            inside = tap.inside if inside is None else aten.logical_and(inside, tap.inside)
            weight = factor if weight is None else weight * factor
        yield index, inside, weight


def _taps(index: Tensor, size: int, options: Options) -> list[Tap]:
    factor = (size - 1) / 2 if options.align_corners else size / 2
    index = (index + 1) * factor if options.align_corners else ((index + 1) * size - 1) / 2
    if options.mode == 2:
        return _cubic_taps(index, factor, size, options)
    index, turn = _brought_inside(index, size, options)
    if options.mode == 1:
        return [_tap(aten.round(index), size, None, None)]
    lower = aten.floor(index)
    part = index - lower
    slope = turn * factor
    return [_tap(lower, size, 1 - part, -slope), _tap(lower + 1, size, part, slope)]


def _cubic_taps(index: Tensor, factor: float, size: int, options: Options) -> list[Tap]:
    lower = aten.floor(index)
    part = index - lower
    found = []
    for at, distance, sign in ((-1, part + 1, 1), (0, part, 1), (1, 1 - part, -1), (2, 2 - part, -1)):
        spot, _ = _brought_inside(lower + at, size, options)
        weight, slope = _outer(distance) if at in (-1, 2) else _inner(distance)
        found.append(_tap(spot, size, weight, slope * (sign * factor)))
    return found


def _inner(distance: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weight of an element less than 1 away, and how fast it grows with the distance."""
    a, b = _CUBIC + 2, _CUBIC + 3
    return (a * distance - b) * distance * distance + 1, (3 * a * distance - 2 * b) * distance


def _outer(distance: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weight of an element from 1 to 2 away, and how fast it grows with the distance."""
    weight = ((_CUBIC * distance - 5 * _CUBIC) * distance + 8 * _CUBIC) * distance - 4 * _CUBIC
    return weight, (3 * _CUBIC * distance - 10 * _CUBIC) * distance + 8 * _CUBIC


def _tap(spot: Tensor, size: int, weight: Tensor | None, slope: Tensor | None) -> Tap:
    inside = aten.logical_and(spot >= 0, spot < size)
    return Tap(aten.to(aten.where.ScalarOther(inside, spot, 0), int64), inside, weight, slope)


def _brought_inside(index: Tensor, size: int, options: Options) -> tuple[Tensor, Tensor]:
    """Return positions within the image, where there are no zeros around it, and how fast they grow with the given
    ones; NaN is its start."""
    turn = aten.ones_like(index)
    if options.padding == 0:
        return index, turn
    if options.padding == 2:
        index, turn = _reflected(index, size, options.align_corners)
    is_inside = aten.logical_and(index > 0, index < size - 1)
    index = aten.clamp_max(aten.where.ScalarOther(index > 0, index, 0), size - 1)
    return index, aten.where.ScalarOther(is_inside, turn, 0)


def _reflected(index: Tensor, size: int, align_corners: bool) -> tuple[Tensor, Tensor]:
    """Return positions folded at the outermost elements' centres, or at their outer edges, and the way they then go."""
    low, span = (0.0, size - 1) if align_corners else (-0.5, size)
    if span == 0:
        return aten.zeros_like(index), aten.zeros_like(index)
    away = index - low
    sign = aten.where.ScalarOther(away < 0, aten.full_like(index, -1), 1)
    away = aten.abs(away)
    rest = aten.fmod(away, span)
    is_odd = aten.fmod(aten.floor(away / span), 2) != 0
    return aten.where(is_odd, span - rest, rest) + low, aten.where(is_odd, -sign, sign)
