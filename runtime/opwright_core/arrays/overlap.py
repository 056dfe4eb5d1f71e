"""Memory that arrays share."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from opwright_core.arrays import layouts
from opwright_core.arrays.devices import Array, backend_of
from opwright_core.arrays.sizes import guard_or_false, guard_or_true

__all__ = ["may_share", "overlaps", "overlaps_partially"]


def may_share(first: Array, second: Any) -> bool:
    """Whether two arrays' memory may meet; false where the second is no array, or one of another kind."""
    if type(first) is np.ndarray:
        return isinstance(second, np.ndarray) and np.may_share_memory(first, second)
    if type(first) is not type(second):
        return False
    backend = backend_of(first)
    try:
        xp = backend.array_module()
    except NotImplementedError:  # a backend of kernels alone: its pointers must do
        pass
    else:
        return bool(xp.may_share_memory(first, second))
    return backend.data_ptr(first) == backend.data_ptr(second)


def overlaps(first: Array, second: Array) -> bool:
    """Whether two arrays that may share memory do so for certain: both are dense; with gaps nobody can say, as in
    PyTorch."""
    strides = backend_of(first).strides
    return all(layouts.is_dense(array.shape, strides(array)) for array in (first, second))


def overlaps_partially(first: Array, second: Array) -> bool:
    """Whether two dense arrays share memory, but not in the same order; with gaps nobody can say, as in PyTorch."""
    if not overlaps(first, second):
        return False
    backend = backend_of(first)
    same_start = backend.data_ptr(first) == backend.data_ptr(second)
    # Where only data could tell, they are taken to agree.
    same_extent = guard_or_true(same_start) and guard_or_true(first.nbytes == second.nbytes)
    return not (same_extent and all(map(guard_or_true, map(operator.eq, _steps(first), _steps(second)))))


def _steps(array: Array) -> list[Any]:
    """Return the strides of the dimensions that have more than one element."""
    return [step for size, step in zip(array.shape, array.strides, strict=True) if not guard_or_false(size == 1)]
