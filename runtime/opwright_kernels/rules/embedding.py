"""Rows of a table by their numbers."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import as_dtype, int32, int64
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_core.rules.factories import overwritten


def embedding(weight: Any, indices: Any) -> Plan:
    """Plan a row of `weight` for each index: the shape of `indices`, and the length of a row. Contiguous."""
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, but its size is {list(weight.shape)}")
    check_indices(indices)
    shape = (*indices.shape, weight.shape[1])
    return Plan(TensorSpec(shape, layouts.contiguous_strides(shape), as_dtype(weight.dtype)), (weight, indices))


def embedding_renorm(self: Any, indices: Any) -> Plan:
    """Plan the whole table, to be written in place as it is. Raises RuntimeError unless it has two dimensions."""
    if self.ndim != 2:
        raise RuntimeError(f"expected a table of 2 dimensions, but its size is {list(self.shape)}")
    check_indices(indices)
    return Plan(overwritten(self, accepts="floating complex").spec, (self, indices))


def check_indices(indices: Any) -> None:
    """Raise RuntimeError unless they are int32 or int64."""
    if indices.dtype not in (int64, int32):
        raise RuntimeError(f"Expected indices to be int64 or int32; but got {indices.dtype} instead")
