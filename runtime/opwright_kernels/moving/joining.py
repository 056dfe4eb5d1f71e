"""Arrays put together."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from opwright_core.core import compiled

Array = Any


@compiled
def concatenate(xp: ModuleType, tensors: Sequence[Array], dim: int, out: Array | None = None) -> Array:
    """Return the arrays one after another along `dim`; one-dimensional empty ones are left out, whatever the shape of
    the others."""
    present = [each for each in tensors if each.shape != (0,)] or list(tensors)
    return xp.concatenate(present, axis=dim, out=out)


@compiled
def stack(xp: ModuleType, tensors: Sequence[Array], dim: int, out: Array | None = None) -> Array:
    """Return arrays of one shape along a new dimension."""
    axis = dim if dim >= 0 else dim + tensors[0].ndim + 1
    index = (*(slice(None),) * axis, None)
    return xp.concatenate([each[index] for each in tensors], axis=axis, out=out)
