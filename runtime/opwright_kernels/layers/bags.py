"""Sums, means and maxima of bags of rows of a table, and distances of pairs of rows."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

from opwright_core.core import compiled
from opwright_kernels.linalg.linear_algebra import row_norms
from opwright_kernels.moving.scattering import accumulate
from opwright_kernels.rules.bags import skips_places

Array = Any


def bags_of_rows(
    xp: ModuleType,
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Array | None,
    include_last_offset: bool,
    padding_idx: int,
) -> tuple[Array, Array, Array, Array]:
    """Return the sum (`mode` 0), mean (1) or maximum (2) of the rows of each bag; which bag each row is in; how many
    are in each; of maxima the row that each is from. Raises RuntimeError for an index or an offset out of range."""
    _check(indices, offsets, weight.shape[0], include_last_offset)
    starts = offsets[:-1] if include_last_offset else offsets
    bags, kind = starts.shape[0], xp.result_type(indices.dtype, offsets.dtype)
    bag_of = (xp.searchsorted(starts, xp.arange(indices.shape[0]), side="right") - 1).astype(kind)
    given = indices != padding_idx if padding_idx >= 0 else xp.ones(indices.shape, "bool")
    bag_of_given, rows = bag_of[given], weight[indices[given]]
    sizes = xp.zeros(bags, kind)
    if mode:
        accumulate(xp, "add", sizes, bag_of_given, xp.ones(bag_of_given.shape, kind))
    if mode == 2:
        found, positions = _maxima(xp, rows, indices[given], bag_of_given, sizes)
        return found, bag_of, sizes, positions.astype(kind)
    compute = xp.dtype("float32") if weight.itemsize == 2 else weight.dtype
    rows = rows.astype(compute, copy=False)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[given][:, None].astype(compute, copy=False)
    total = xp.zeros((bags, weight.shape[1]), compute)
    accumulate(xp, "add", total, bag_of_given, rows)
    if mode == 1:
        total /= xp.maximum(sizes, 1)[:, None].astype(compute)
    total = total.astype(weight.dtype, copy=False)
    told = bag_of[:0] if skips_places(weight, mode, per_sample_weights, padding_idx) else bag_of
    return total, told, sizes, sizes.copy()


def _check(indices: Array, offsets: Array, rows: int, include_last_offset: bool) -> None:
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= rows):
        raise RuntimeError(f"embedding_bag: index out of range: indices must lie from 0 to {rows - 1}")
    if offsets.shape[0] and int(offsets[0]) != 0:
        raise RuntimeError(f"embedding_bag: index out of range: the first bag starts at 0, not at {int(offsets[0])}")
    if offsets.shape[0] and (int(offsets[-1]) > indices.shape[0] or bool((offsets[1:] < offsets[:-1]).any())):
        raise RuntimeError(f"embedding_bag: index out of range: offsets must rise, to at most {indices.shape[0]}")


def _maxima(xp: ModuleType, rows: Array, indices: Array, bag_of: Array, sizes: Array) -> tuple[Array, Array]:
    shape = (sizes.shape[0], rows.shape[1])
    best = xp.full(shape, -xp.inf, rows.dtype)
    accumulate(xp, "maximum", best, bag_of, rows)
    position = xp.where(rows == best[bag_of], xp.arange(rows.shape[0])[:, None], rows.shape[0])
    first = xp.full(shape, rows.shape[0])
    accumulate(xp, "minimum", first, bag_of, position)
    is_set = (sizes > 0)[:, None] & (first < rows.shape[0])
    padded = xp.concatenate([indices, xp.zeros(1, indices.dtype)])
    return xp.where((sizes > 0)[:, None], best, 0).astype(rows.dtype), xp.where(is_set, padded[first], 0)


@lru_cache(16)
def pairs_of(xp: ModuleType, count: int) -> tuple[Array, Array]:
    """Return the numbers of the first and the second row of each pair. Nobody writes to them."""
    found: tuple[Array, Array] = xp.triu_indices(count, 1)
    return found


@compiled
def pair_distances(xp: ModuleType, self: Array, p: float) -> Array:
    """Return the p-norm of the difference of each pair of rows, the first row's pairs first."""
    if abs(p) > xp.finfo(self.dtype).max:  # infinite in this dtype; PyTorch does not look at the sign
        p = float("inf")
    first, second = pairs_of(xp, self.shape[0])
    return row_norms(xp, self[first] - self[second], p).astype(self.dtype)
