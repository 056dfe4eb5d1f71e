"""Views that read memory in another way: as another dtype, or in windows that overlap.

As in `shapes`, no kernel here copies data, and strides follow PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from opwright_core.arrays.dtypes import COMPLEX, DType, as_dtype, complex64, complex128, float32, float64, to_real
from opwright_core.arrays.layouts import wrap_dim
from opwright_core.arrays.sizes import holds
from opwright_core.errors import DispatchError
from opwright_kernels.moving.shapes import strided

Array = Any


def retyped(xp: ModuleType, self: Array, dtype: DType, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Return the memory from the array's first element on as another dtype, in this shape and these byte strides."""
    run = max(dtype.itemsize // self.itemsize, 1)
    first = strided(xp, self, (run,), (self.itemsize,)).view(dtype)
    return strided(xp, first, shape, strides)


def view_dtype(xp: ModuleType, self: Array, dtype: object) -> Array:
    """Return the elements' bytes as another dtype; the last dimension grows or shrinks accordingly (`view.dtype`).

    Raises RuntimeError where the sizes of the elements differ and the last dimension is not contiguous, or elements
    of the new size do not fit the shape or the strides. Any location is accepted: PyTorch refuses storage offsets
    that are no multiple of the new size.
    """
    wanted = as_dtype(dtype)
    old, new = self.itemsize, wanted.itemsize
    if old == new:
        return retyped(xp, self, wanted, self.shape, self.strides)
    what = f"to view {self.dtype} as {wanted} (elements of {old} and {new} bytes)"
    if not self.ndim:
        raise RuntimeError(f"a tensor needs at least one dimension {what}")
    if self.strides[-1] != old:
        raise RuntimeError(f"the stride of the last dimension must be 1 {what}, but is {self.strides[-1] // old}")
    if new > old:
        _check_divisible(self, new // old, what)
    last = self.shape[-1] * (old // new) if new < old else self.shape[-1] // (new // old)
    return retyped(xp, self, wanted, (*self.shape[:-1], last), (*self.strides[:-1], new))


def _check_divisible(self: Array, ratio: int, what: str) -> None:
    if not holds(self.shape[-1] % ratio == 0):
        raise RuntimeError(f"the size of the last dimension must be a multiple of {ratio} {what}")
    if not all(holds(stride % (self.itemsize * ratio) == 0) for stride in self.strides[:-1]):
        raise RuntimeError(f"the strides of all dimensions but the last must be multiples of {ratio} {what}")


def view_as_real(xp: ModuleType, self: Array) -> Array:
    """Return complex numbers as pairs of real ones, along a new last dimension."""
    dtype = as_dtype(self.dtype)
    if dtype not in COMPLEX:
        raise RuntimeError(f"view_as_real is only supported for complex tensors, but got {dtype}")
    part = to_real(dtype)
    return retyped(xp, self, part, (*self.shape, 2), (*self.strides, part.itemsize))


def view_as_complex(xp: ModuleType, self: Array) -> Array:
    """Return pairs of real numbers, along a last dimension of size 2, as complex ones.

    Raises RuntimeError where pairs do not lie in memory as complex numbers do, DispatchError for another dtype than
    float32 and float64.
    """
    dtype = {float32: complex64, float64: complex128}.get(as_dtype(self.dtype))
    if dtype is None:
        raise DispatchError(f"view_as_complex: expected float32 or float64, but got {self.dtype}")
    what = "to view it as complex"
    if not self.ndim:
        raise RuntimeError(f"a tensor needs at least one dimension {what}")
    if not holds(self.shape[-1] == 2):
        raise RuntimeError(f"the last dimension must have size 2 {what}, but has {self.shape[-1]}")
    if self.strides[-1] != self.itemsize:
        raise RuntimeError(f"the stride of the last dimension must be 1 {what}")
    _check_divisible(self, 2, what)
    return retyped(xp, self, dtype, self.shape[:-1], self.strides[:-1])


def unfold(xp: ModuleType, self: Array, dimension: int, size: int, step: int) -> Array:
    """Return all windows of `size` positions along a dimension, `step` apart; a new last dimension has their
    positions."""
    dim = wrap_dim(dimension, self.ndim)
    length, stride = (self.shape[dim], self.strides[dim]) if self.ndim else (1, self.itemsize)
    if not holds(size >= 0):
        raise RuntimeError(f"unfold: size must not be negative, but got {size}")
    if not holds(size <= length):
        raise RuntimeError(f"unfold: windows of {size} do not fit dimension {dim}, whose size is {length}")
    if step <= 0:
        raise RuntimeError(f"unfold: step must be greater than 0, but got {step}")
    if not self.ndim:
        return strided(xp, self, (size,), (stride,))
    count = (length - size) // step + 1
    shape = (*self.shape[:dim], count, *self.shape[dim + 1 :], size)
    return strided(xp, self, shape, (*self.strides[:dim], stride * step, *self.strides[dim + 1 :], stride))
