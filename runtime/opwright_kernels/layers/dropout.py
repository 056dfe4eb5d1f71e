"""Dropout, as one kernel: elements and mask."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.arrays.dtypes import bool_
from opwright_core.arrays.storage import new_array
from opwright_core.plans.operands import kept_strides
from opwright_kernels.drawing.random import bernoulli_of

Array = Any


def native_dropout(xp: ModuleType, input: Array, p: float, train: bool | None) -> tuple[Array, Array]:
    """Drop each element with probability `p`, scale the others so that the mean stays; and return which were kept."""
    if train is not None and not train:
        return input, xp.ones_like(input, dtype=bool_)
    kept = 1.0 - p
    mask = new_array(input.shape, kept_strides(input), bool_, input)
    bernoulli_of(xp, mask, kept, None, out=mask)
    scale = input.dtype.type(0.0 if kept == 0 else 1.0 / kept)
    return xp.multiply(input * mask, scale), mask
