"""The fast-path test of composites and backward functions: no mode, no autograd, all operands NumPy.

The operators that a composite calls are seen by modes, by autograd and by backends of other devices. Where there are
none of these, one function on arrays gives the same values in a fraction of the calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy import dtype, ndarray

from opwright_core.core import fast
from opwright_core.keys import AUTOGRAD, CPU_ALONE, GRAD
from opwright_core.state import with_modes
from opwright_core.tensors.tensor import Tensor

Array = Any

_DTYPES = frozenset((dtype("float32"), dtype("float64")))


def arrays_of(first: Any, *others: Any, indices: Any = None) -> list[Array] | None:
    """Return the NumPy arrays of tensors of one dtype, float32 or float64, None for what is None, and at last that of
    the indices where there are any.

    Return None if a mode is on, a gradient or tangent would be recorded, or a tensor is of another dtype, of a subclass
    or on another device.
    """
    if type(first) is not Tensor or first.array.dtype not in _DTYPES:
        return None
    common = first.array.dtype
    keys, arrays = first.keys, [first.array]
    for each in others:
        if each is None:
            arrays.append(None)
        elif type(each) is Tensor and each.array.dtype == common:
            keys |= each.keys
            arrays.append(each.array)
        else:
            return None
    if indices is not None:
        if type(indices) is not Tensor or indices.array.dtype.kind not in "iu":
            return None
        keys |= indices.keys
        arrays.append(indices.array)
    for each in arrays:
        if each is not None and type(each) is not ndarray:
            return None
    left = with_modes(keys)
    if left & GRAD and not left & AUTOGRAD:  # below what records
        left &= ~GRAD
    return None if left & ~CPU_ALONE else arrays


def dense_arrays(grad: Any, like: Any, *others: Any) -> list[Array] | None:
    """Return the arrays of tensors as `arrays_of` does, where the second is contiguous and not empty."""
    found = arrays_of(grad, like, *others)
    return found if found is not None and found[1].size and found[1].flags.c_contiguous else None


if fast is not None and not TYPE_CHECKING:
    arrays_of = fast.arrays_of
