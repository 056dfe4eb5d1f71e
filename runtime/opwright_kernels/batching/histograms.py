"""Edges of grids, which each sample may have of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_kernels.batching.operands import Operand, every

__all__ = ["grid_edges"]


def grid_edges(
    info: Any,
    in_dims: Any,
    self: Operand,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: Operand | None = None,
    density: bool = False,
) -> Any:
    """Return the edges of each sample's parts, a tensor for each dimension."""
    aten = opwright.ops.aten
    values = aten.unbind(every(info, self, in_dims[0]))
    found = [aten._histogramdd_bin_edges(each, bins, range=range, density=density) for each in values]
    edges = [aten.stack(list(each)) for each in zip(*found, strict=True)]
    return edges, [0] * len(edges)
