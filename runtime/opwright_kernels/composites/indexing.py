"""Indexing operators that are made of others. They see Tensors of any device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import as_dtype

Operand = Any  # a Tensor


def take_along_dim(self: Operand, indices: Operand, dim: int | None) -> Operand:
    """Call `gather` on two arrays that broadcast, apart from `dim`; on all elements in a row where that is None."""
    return opwright.ops.aten.gather(*_along(self, indices, dim))


def take_along_dim_out(self: Operand, indices: Operand, dim: int | None, out: Operand) -> Operand:
    """Write `take_along_dim` into `out`."""
    this, dim, indices = _along(self, indices, dim)
    return opwright.ops.aten.gather(this, dim, indices, out=out)


def _along(self: Operand, indices: Operand, dim: int | None) -> tuple[Operand, int, Operand]:
    aten = opwright.ops.aten
    if dim is None:
        return aten.view(self, [-1]), 0, aten.view(indices, [-1])
    ndim = len(self.shape)
    if ndim != len(indices.shape):
        raise RuntimeError(
            f"take_along_dim(): input and indices should have the same number of dimensions, but got {ndim} "
            f"dimensions for input, and {len(indices.shape)} dimensions for indices"
        )
    if as_dtype(indices.dtype) != opwright.int64:
        raise RuntimeError(f"take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    dim = layouts.wrap_dim(dim, ndim)
    if not ndim:
        return self, dim, indices
    indices = aten.where(indices < 0, indices + self.shape[dim], indices)  # negative ones count from the end
    whole, wanted = tuple(self.shape), tuple(indices.shape)
    around = layouts.broadcast_shapes([(*whole[:dim], wanted[dim], *whole[dim + 1 :]), wanted])
    source = (*around[:dim], whole[dim], *around[dim + 1 :])
    return aten.expand(self, source), dim, aten.expand(indices, around)


def unsafe_index(self: Operand, indices: Sequence[Operand | None]) -> Operand:
    """Call `index` with positions alone. They are checked all the same."""
    for each in indices:
        if each is not None and as_dtype(each.dtype) not in (opwright.int64, opwright.int32):
            raise RuntimeError(f"_unsafe_index found unexpected index type {each.dtype}")
    return opwright.ops.aten.index(self, list(indices))


def _unsafe_masked_index(self: Operand, mask: Operand, indices: Sequence[Operand | None], fill: complex) -> Operand:
    """Return the elements at positions where `mask` has ones, `fill` elsewhere, where positions may be any."""
    aten = opwright.ops.aten
    return aten.masked_fill(aten.index(self, _within(self, indices)), aten.logical_not(mask), fill)


def _unsafe_masked_index_put_accumulate(
    self: Operand, mask: Operand, indices: Sequence[Operand | None], values: Operand
) -> Operand:
    """Return `self` with the values added at positions where `mask` has ones."""
    aten = opwright.ops.aten
    added = aten.masked_fill(values, aten.logical_not(mask), 0)
    return aten.index_put(self, _within(self, indices), added, True)


def _within(self: Operand, indices: Sequence[Operand | None]) -> list[Operand | None]:
    """Return positions of the tensor: those beyond its ends are moved to them."""
    clamp = opwright.ops.aten.clamp
    return [
        None if each is None else clamp(each, -size, size - 1) for each, size in zip(indices, self.shape, strict=False)
    ]
