"""Extremes of all elements: their gradient goes to all of these that are equal, so that no index is chosen."""

from __future__ import annotations

from typing import Any

import opwright
from opwright_kernels.batching.operands import Operand, first, flattened

__all__ = ["largest", "smallest"]


def largest(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return the largest element of each sample."""
    return opwright.ops.aten.amax(flattened(first(self, in_dims[0])), [1]), 0


def smallest(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return the smallest element of each sample."""
    return opwright.ops.aten.amin(flattened(first(self, in_dims[0])), [1]), 0
