"""Arrays as tensors can have them: of a plain type, with the strides of tensors, of dtypes that there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from opwright_core.arrays import layouts
from opwright_core.arrays.devices import Array
from opwright_core.arrays.dtypes import CANONICAL
from opwright_core.arrays.storage import new_array

__all__ = ["check_steps", "unsupported_dtype", "with_strides", "without_subclass"]

ndarray = np.ndarray


def without_subclass(array: Any) -> ndarray[Any, Any]:
    """Return a plain array over the memory of one of a subclass; a NumPy scalar as a 0-dim array.

    Raises TypeError for a masked array, whose mask would be lost.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("a masked array would lose its mask: use array.filled(), or array.data")
    return np.asarray(array)


def check_steps(array: ndarray[Any, Any]) -> None:
    """Raise ValueError for an array with strides that are no number of elements, a field of a record."""
    if not array.flags.c_contiguous and any(stride % array.itemsize for stride in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy required.")


def with_strides(array: Array, *, check_dtype: bool = False) -> Array:
    """Return an array of NumPy or CuPy with the strides that an empty tensor has: these libraries give it none.

    Raises TypeError, if that is to be checked, for a dtype that no Tensor can have.
    """
    if check_dtype and array.dtype not in CANONICAL:
        raise TypeError(unsupported_dtype(array))
    shape = array.shape
    if 0 in shape and not any(array.strides):
        return new_array(shape, layouts.contiguous_strides(shape), array.dtype, array)
    return array


def unsupported_dtype(array: Array) -> str:
    """Say what is wrong with an array's dtype, and what would be right."""
    if array.dtype.byteorder not in "=|" and array.dtype.newbyteorder("=") in CANONICAL:
        return (
            "given numpy array has byte order different from the native byte order; convert it first, with "
            "array.astype(array.dtype.newbyteorder('='))"
        )
    known = ", ".join(str(dtype) for dtype in CANONICAL)
    library = "cupy" if type(array).__module__.startswith("cupy") else "np"
    return f"can't convert {library}.ndarray of type {array.dtype}. The only supported types are: {known}."
