"""Extremes and medians of all elements: their gradient goes to all that are equal, so that no index is chosen."""

from __future__ import annotations

from typing import Any

import opwright
from opwright_kernels.batching.operands import Operand, first, flattened

__all__ = ["largest", "middle", "middle_number", "smallest"]


def largest(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return the largest element of each sample."""
    return opwright.ops.aten.amax(flattened(first(self, in_dims[0])), [1]), 0


def smallest(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return the smallest element of each sample."""
    return opwright.ops.aten.amin(flattened(first(self, in_dims[0])), [1]), 0


def middle(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return the median of each sample."""
    return _middle(flattened(first(self, in_dims[0])), opwright.ops.aten.median), 0


def middle_number(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return the median of each sample, NaN left out."""
    return _middle(flattened(first(self, in_dims[0])), opwright.ops.aten.nanmedian), 0


def _middle(value: Operand, median: Any) -> Operand:
    aten = opwright.ops.aten
    if not value.shape[1]:
        return aten.expand(median.default(value.new_empty([0])), [value.shape[0]])
    found = median.dim(value, 1)[0]
    if not value.requires_grad:
        return found
    found = found.detach()
    wanted = found.unsqueeze(1)
    is_median = aten.logical_or(value == wanted, aten.logical_and(aten.isnan(value), aten.isnan(wanted)))
    mean = aten.where.ScalarOther(is_median, value, 0).sum(1) / is_median.sum(1)
    return found + (mean - mean.detach())  # which adds nothing but the gradient
