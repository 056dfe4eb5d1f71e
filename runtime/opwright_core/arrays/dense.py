"""The test for dense arrays: tensors that are not dense have the private bit NONDENSE among their keys.

An array is dense if it has at least one dimension and one element, exactly row-major strides, and a dtype that
computes in itself (half and bfloat16 compute in float32). Kernels for dense arrays read no strides.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from opwright_core.arrays.devices import Array, backend_of
from opwright_core.arrays.dtypes import REDUCED, DType
from opwright_core.arrays.layouts import Shape
from opwright_core.keys import NONDENSE

__all__ = ["nondense_bit", "nondense_bit_of"]


def nondense_bit(array: Array) -> int:
    """Return 0 for a dense array of any backend, else NONDENSE. Raises TypeError for an array of no backend."""
    if type(array) is np.ndarray:
        if not array.flags.c_contiguous:
            return NONDENSE
        return _cached_nondense_bit_of(array.shape, array.strides, array.dtype, array.itemsize)
    backend = backend_of(array)
    return nondense_bit_of(backend.shape(array), backend.strides(array), backend.dtype(array))


def nondense_bit_of(shape: Shape, strides: Shape, dtype: DType, unit: int = 1) -> int:
    """Return 0 for what is dense, else NONDENSE. Strides count elements; with the item size as `unit`, bytes.

    A size or stride that is symbolic is not asked, since that would restrict it: its array is not dense.
    """
    if not shape or dtype in REDUCED:
        return NONDENSE
    step = unit
    for size, stride in zip(shape[::-1], strides[::-1], strict=True):
        if type(size) is not int or type(stride) is not int or stride != step or not size:
            return NONDENSE
        step *= size
    return 0


_cached_nondense_bit_of = lru_cache(maxsize=4096)(nondense_bit_of)  # of plain ints, which arrays of NumPy have
