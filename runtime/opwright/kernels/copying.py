"""Writing into arrays that exist, and reading one element out."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright.dtypes import checked_scalar

Array = Any


def copy_into(xp: ModuleType, self: Array, src: Array, non_blocking: bool = False) -> Array:
    """`copy_`: the elements of `src`, broadcast and cast to `self`. Raises RuntimeError where the shapes do not fit."""
    try:
        # Real parts are taken on purpose; NumPy would warn about it at each call.
        xp.copyto(self, src.real if src.dtype.kind == "c" and self.dtype.kind not in "bc" else src, casting="unsafe")
    except ValueError:
        raise RuntimeError(f"copy_: a tensor of shape {list(src.shape)} cannot be broadcast to {list(self.shape)}") from None
    return self


def fill_scalar(xp: ModuleType, self: Array, value: complex) -> Array:
    """`fill_.Scalar`: every element one number. Raises RuntimeError where the dtype cannot hold it."""
    self[...] = checked_scalar(value, self.dtype)
    return self


def fill_tensor(xp: ModuleType, self: Array, value: Array) -> Array:
    """`fill_.Tensor`: every element the one of a 0-dim array."""
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return copy_into(xp, self, value)


def fill_zero(xp: ModuleType, self: Array) -> Array:
    """`zero_`: every element 0."""
    self[...] = 0
    return self


def read_element(xp: ModuleType, self: Array) -> Any:
    """The one element as a Python number. Raises RuntimeError unless there is exactly one."""
    if self.size != 1:
        raise RuntimeError(f"a Tensor with {self.size} elements cannot be converted to Scalar")
    value = self.item()
    # Dtypes from ml_dtypes give a NumPy scalar of their own.
    return value if isinstance(value, (bool, int, float, complex)) else float(value)


def same_elements(xp: ModuleType, self: Array, other: Array) -> bool:
    """`equal`: whether shapes and all elements are equal; NaN is not equal to itself."""
    return self.shape == other.shape and bool(xp.all(xp.equal(self, other)))
