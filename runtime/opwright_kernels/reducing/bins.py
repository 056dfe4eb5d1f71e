"""Positions of values among sorted ones, and how many fall where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import FLOATING, REDUCED, as_dtype
from opwright_core.arrays.layouts import check_countable, same_shape, surely_empty
from opwright_core.arrays.sizes import holds
from opwright_core.core import compiled
from opwright_core.errors import DispatchError
from opwright_core.plans.operands import NUMBERS
from opwright_kernels.moving.scattering import accumulate

Array = Any

_LONG = 1 << 22  # elements of one call of NumPy's


def searchsorted(
    xp: ModuleType,
    sorted_sequence: Array,
    self: Array,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Array | None,
) -> Array:
    """Return how many boundaries of its row are below each value, or (`right`) not above it; NaN is above all.

    `sorter` holds the order of boundaries that are not sorted. Raises RuntimeError where it names positions that there
    are not.
    """
    if sorter is not None:
        if sorter.size and not 0 <= sorter.min() <= sorter.max() < sorted_sequence.shape[-1]:
            raise RuntimeError("searchsorted(): sorter index out of range")
        sorted_sequence = xp.take_along_axis(sorted_sequence, sorter, axis=-1)
    found = count_below(xp, sorted_sequence, _values(xp, self, sorted_sequence), right or side == "right")
    return found.astype("int32") if out_int32 else found


def _values(xp: ModuleType, self: Array, boundaries: Array) -> Array:
    """Return the values as an array; a number in the dtype of the boundaries where that holds it."""
    if type(self) is float and boundaries.dtype.kind == "f" and self == boundaries.dtype.type(self):
        return xp.asarray(self, boundaries.dtype)
    return xp.asarray(self)


def bucketize(xp: ModuleType, self: Array, boundaries: Array, out_int32: bool, right: bool) -> Array:
    """Return how many boundaries are below each value, or (`right`) not above it."""
    return searchsorted(xp, boundaries, self, out_int32, right, None, None)


@compiled
def count_below(xp: ModuleType, boundaries: Array, values: Array, right: bool) -> Array:
    """Return how many boundaries of its row are below each value, or (`right`) not above it."""
    is_floating = boundaries.dtype.kind not in "iu"
    if boundaries.ndim > 1 or (is_floating and bool(xp.isnan(boundaries).any())):
        return _bisected(xp, boundaries, values, right)
    found = xp.asarray(xp.searchsorted(boundaries, values, side="right" if right else "left"))
    return xp.where(xp.isnan(values), len(boundaries), found) if is_floating else found


def _bisected(xp: ModuleType, boundaries: Array, values: Array, right: bool) -> Array:
    """Bisect for all values at once: as many steps as the length of a row has bits."""
    length = boundaries.shape[-1]
    low = xp.zeros(values.shape, dtype="int64")
    high = xp.full(values.shape, length, dtype="int64")
    for _ in range(length.bit_length()):
        middle = (low + high) // 2
        at = xp.minimum(middle, max(length - 1, 0))
        met = boundaries[at] if boundaries.ndim == 1 else xp.take_along_axis(boundaries, at, axis=-1)
        is_past = met > values if right else met >= values
        open_ = low < high
        high = xp.where(open_ & is_past, middle, high)
        low = xp.where(open_ & ~is_past, middle + 1, low)
    return low


def bincount(xp: ModuleType, self: Array, weights: Array | None, minlength: int) -> Array:
    """Return how often each number from 0 up occurs, or the sum of its weights: as many numbers as there are, and
    `minlength` at least."""
    check_counted(self, weights, minlength)
    check_countable((minlength,), 8)
    if not self.size:
        return xp.zeros(minlength, dtype="int64")
    if self.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs")
    if weights is None:
        return _sums_at(xp, self.astype("int64", copy=False), None, minlength)
    totals = _sums_at(xp, self.astype("int64", copy=False), weights.astype("float64"), minlength)
    return totals.astype("float32") if weights.dtype == np.dtype("float32") else totals


def _sums_at(xp: ModuleType, places: Array, weights: Array | None, minlength: int) -> Array:
    """Return `bincount`; of many places in parts: no other thread of Python runs during one of NumPy's."""
    if xp is not np or places.size <= _LONG:
        return xp.bincount(places, weights, minlength)
    added = np.ones((), np.int64) if weights is None else weights.astype(np.float64, copy=False)
    sums = np.zeros(max(minlength, int(places.max()) + 1), added.dtype)
    accumulate(np, "add", sums, places, added)
    return sums


def check_counted(self: Array, weights: Array | None, minlength: int) -> None:
    """Raise RuntimeError, or DispatchError, for what `bincount` cannot count."""
    if self.dtype.kind not in "iu":
        raise DispatchError(f"bincount: not implemented for {self.dtype}: expected integers")
    if minlength < 0:
        raise RuntimeError(f"bincount: minlength should be >= 0, but is {minlength}")
    if self.ndim != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs")
    if weights is not None and not surely_empty(self.shape) and weights.shape != self.shape:
        raise RuntimeError("bincount: weights should be 1-d and have the same length as input")


def histc(xp: ModuleType, self: Array, bins: int, min: float, max: float) -> Array:
    """Return how many elements fall in each of `bins` equal parts of [min, max], or of the elements' own range where
    both are equal; what lies outside, and NaN, is left out.

    Raises RuntimeError where the elements' range is not finite.
    """
    low, high = extent(xp, self) if min == max else (float(min), float(max))
    if low == high:
        low, high = low - 1.0, high + 1.0
    elements = self.reshape(-1)
    elements = elements[(elements >= low) & (elements <= high)]
    # Step by step in the dtype of the elements, as in PyTorch: rounding decides about those close to an edge.
    first, number, length = (self.dtype.type(each) for each in (low, bins, high - low))
    positions = ((elements - first) * number / length).astype("int64")
    return _sums_at(xp, xp.minimum(positions, bins - 1), None, bins).astype(self.dtype)


@compiled
def extent(xp: ModuleType, self: Array) -> tuple[float, float]:
    """Return the smallest and the largest element, 0 and 1 where there is none. Raises RuntimeError where they are not
    finite."""
    low, high = (float(self.min()), float(self.max())) if self.size else (0.0, 1.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"the range of [{low}, {high}] is not finite")
    return low, high


def histogram(
    xp: ModuleType,
    self: Array,
    bins: int,
    range: Sequence[float] | None,
    weight: Array | None,
    density: bool,
) -> tuple[Array, Array]:
    """Count the elements in each of `bins` equal parts of `range`, or of the elements' own; return also the edges."""
    return histogram_between(xp, self, _edges(xp, self, bins, range), weight, density)


def _edges(xp: ModuleType, self: Array, bins: int, range: Sequence[float] | None) -> Array:
    low, high = extent(xp, self) if range is None else range
    if low == high:
        low, high = low - 0.5, high + 0.5
    return even_edges(xp, low, high, bins, self.dtype)


@compiled
def even_edges(xp: ModuleType, low: float, high: float, count: int, dtype: Any) -> Array:
    """Return the edges of `count` equal parts."""
    return xp.linspace(low, high, count + 1, dtype=dtype)


@compiled
def histogram_between(
    xp: ModuleType, self: Array, bins: Array, weight: Array | None, density: bool
) -> tuple[Array, Array]:
    """Return how many elements, or what weight of them, falls between neighbours of ascending edges, and the edges; the
    last edge belongs to the last bin. With `density`, what integrates to 1."""
    elements = self.reshape(-1)
    inside = (elements >= bins[0]) & (elements <= bins[-1])
    positions = xp.searchsorted(bins, elements[inside], side="right") - 1
    weights = None if weight is None else weight.reshape(-1)[inside]
    count = len(bins) - 1
    found = _sums_at(xp, xp.minimum(positions, count - 1), weights, count).astype(self.dtype)
    if density:
        found = found / found.sum() / (bins[1:] - bins[:-1])
    return found, bins


def grid_edges(
    xp: ModuleType, self: Array, bins: Sequence[int], range: Sequence[float] | None, weight: Array | None, density: bool
) -> list[Array]:
    """Return the edges of equal parts of each dimension's `range`, or of its elements' own (`_histogramdd_bin_edges`);
    `self` has a point in each row."""
    check_points(self, bins, range)
    points = self.reshape(-1, len(bins))
    ranges = [None if range is None else range[2 * position : 2 * position + 2] for position, _ in enumerate(bins)]
    return [_edges(xp, points[:, position], count, ranges[position]) for position, count in enumerate(bins)]


def unknown_grid_edges(
    xp: ModuleType, self: Array, bins: Sequence[int], range: Sequence[float] | None, weight: Array | None, density: bool
) -> list[Array]:
    """Return edges without data (`_histogramdd_bin_edges`)."""
    check_points(self, bins, range)
    return [xp.empty_like(self, shape=(count + 1,)) for count in bins]


def grid_counts(
    xp: ModuleType, self: Array, bins: Sequence[int], range: Sequence[float] | None, weight: Array | None, density: bool
) -> Array:
    """Count the points in each cell of a grid of equal parts (`_histogramdd_from_bin_cts`)."""
    edges = grid_edges(xp, self, bins, range, weight, density)
    return counts_between_edges(xp, self, edges, weight, density)


@compiled
def counts_between_edges(
    xp: ModuleType, self: Array, bins: Sequence[Array], weight: Array | None, density: bool
) -> Array:
    """Count the points, or sum their weights, in each cell between ascending edges of each dimension
    (`_histogramdd_from_bin_tensors`); the last edge belongs to the last cell. With `density`, what integrates to 1."""
    shape = [len(edges) - 1 for edges in bins]
    points = self.reshape(-1, len(bins))
    cells = xp.zeros(len(points), "int64")
    is_inside = xp.ones(len(points), bool)
    for position, edges in enumerate(bins):
        elements = points[:, position]
        is_inside &= (elements >= edges[0]) & (elements <= edges[-1])
        found = xp.searchsorted(edges, elements, side="right") - 1
        cells = cells * shape[position] + xp.clip(found, 0, shape[position] - 1)
    weights = None if weight is None else weight.reshape(-1)[is_inside].astype("float64")
    counts = _sums_at(xp, cells[is_inside], weights, math.prod(shape)).reshape(shape).astype(self.dtype)
    if density:
        counts = counts / counts.sum()
        for position, edges in enumerate(bins):
            counts = counts / (edges[1:] - edges[:-1]).reshape(
                [-1 if at == position else 1 for at, _ in enumerate(bins)]
            )
    return counts


def check_points(self: Array, bins: Sequence[Any], range: Sequence[float] | None) -> None:
    """Raise RuntimeError unless there are bins for each dimension of the points in rows, and ranges where there are
    any; DispatchError for dtypes other than float32 and float64, or, with edges, no floating-point numbers."""
    if len(self.shape) < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    dtype = as_dtype(self.dtype)
    if dtype not in FLOATING or (dtype in REDUCED and any(isinstance(each, NUMBERS) for each in bins)):
        raise DispatchError(f"torch.histogramdd: not implemented for {dtype}: expected float32 or float64")
    if not holds(len(bins) == self.shape[-1]):
        raise RuntimeError(
            f"torch.histogramdd: expected bins for each of {self.shape[-1]} dimensions, the innermost size of the "
            f"input, but got {len(bins)}"
        )
    if range is not None:
        _check_ranges(range, len(bins))


def check_grid(
    self: Array, bins: Sequence[Any], weight: Array | None, range: Sequence[float] | None
) -> tuple[Any, ...]:
    """Return how many cells a grid has along each dimension: `bins` are these numbers, or edges. Raises RuntimeError
    where arguments do not fit together, and what `check_points` raises."""
    check_points(self, bins, range)
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError(
            f"torch.histogramdd: input has dtype {self.dtype}, and weight {weight.dtype}: they should be the same"
        )
    if weight is not None and not same_shape(weight.shape, self.shape[:-1]):
        raise RuntimeError(
            "torch.histogramdd: weight should have the shape of the input without its innermost dimension, but they "
            f"have {list(weight.shape)} and {list(self.shape)}"
        )
    return tuple([_cells(self, each, position) for position, each in enumerate(bins)])


def _cells(self: Array, bins: Any, position: int) -> Any:
    if not isinstance(bins, NUMBERS):
        if len(bins.shape) != 1 or bins.dtype != self.dtype:
            raise RuntimeError(
                f"torch.histogramdd: edges of bins should have one dimension and the dtype of the input, but those of "
                f"dimension {position} have shape {list(bins.shape)} and dtype {bins.dtype}"
            )
        bins = bins.shape[0] - 1
    if not holds(bins > 0):
        raise RuntimeError(f"torch.histogramdd: bins must be > 0, but got {bins} for dimension {position}")
    return bins


def _check_ranges(range: Sequence[float], dimensions: int) -> None:
    if len(range) != 2 * dimensions:
        raise RuntimeError(
            f"torch.histogramdd: for a {dimensions}-dimensional histogram range should have {2 * dimensions} elements, "
            f"but got {len(range)}"
        )
    for position, (low, high) in enumerate(zip(range[::2], range[1::2], strict=True)):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension {position}'s range [{low}, {high}] is not finite")
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low} max {high} for dimension {position}"
            )
