"""Rows of a table by their numbers."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.core import compiled
from opwright_kernels.moving.copying import own_copy

Array = Any


@compiled
def embedding(
    xp: ModuleType, weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Array:
    """Return a row for each index. Raises IndexError for one without a row; other arguments are for gradients."""
    rows = weight.shape[0]
    # Seen without their sign, negative indices are larger than any number of rows.
    if indices.size and int(indices.view(f"u{indices.itemsize}").max()) >= rows:
        raise IndexError(f"index out of range in self: indices must lie from 0 to {rows - 1}")
    return xp.take(weight, indices, axis=0)


def embedding_renorm(
    xp: ModuleType, self: Array, indices: Array, max_norm: float, norm_type: float, out: Array | None = None
) -> Array:
    """Return the table, with the rows that are named and whose norm is larger than `max_norm` scaled down to it."""
    count = self.shape[0]
    rows = xp.unique(indices.reshape(-1))
    if rows.size and not bool(((rows >= -count) & (rows < count)).all()):
        raise IndexError(f"embedding_renorm: index out of range for a table of {count} rows")
    target = own_copy(xp, self, out)
    chosen = target[rows]
    norms = _norms(xp, chosen, norm_type)
    scale = xp.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(norms.dtype)
    target[rows] = chosen * scale[:, None]
    return target


def _norms(xp: ModuleType, rows: Array, norm_type: float) -> Array:
    sizes = xp.abs(rows)
    if norm_type == float("inf"):
        return sizes.max(axis=1)
    if norm_type == 0:
        return (sizes != 0).sum(axis=1).astype(sizes.dtype)
    return (sizes**norm_type).sum(axis=1) ** (1 / norm_type)
