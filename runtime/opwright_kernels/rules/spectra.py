"""Discrete Fourier transforms: shapes, and strides as MKL's transforms leave them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Along, Dims
from opwright_core.arrays.devices import element_strides
from opwright_core.arrays.dtypes import COMPLEX, DType, as_dtype, float32, float64, to_complex, to_real
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import guard_or_false, holds
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_core.rules.dimensions import wrap_dims


def spectrum(self: Along, dim: Dims) -> Plan:
    """Plan the transforms over `dim` of complex numbers: of their shape and dtype. RuntimeError for real ones."""
    dims = _wrapped("_fft_c2c", self, dim) if dim else ()
    dtype = _complex("_fft_c2c", self)
    if not dims:
        return _plan(self, self.shape, element_strides(self), dtype)
    strides = element_strides(self)
    return _plan(self, self.shape, _transformed(self.shape, strides, _slowest_first(dims, strides)), dtype)


def spectrum_of_real(self: Along, dim: Dims, onesided: bool) -> Plan:
    """Plan the transforms over `dim` of real numbers, with the first half of the last of them where `onesided`.

    Raises RuntimeError for other dtypes than float32 and float64, and without dimensions.
    """
    dtype = as_dtype(self.dtype)
    if dtype not in (float32, float64):
        raise RuntimeError(f"_fft_r2c: expected float32 or float64, but got {dtype}")
    *others, last = _given("_fft_r2c", self, dim)
    shape = list(self.shape)
    if onesided:
        shape[last] = shape[last] // 2 + 1
    strides = element_strides(self)
    order = (*_slowest_first(others, strides), last)
    return _plan(self, tuple(shape), _transformed(tuple(shape), strides, order), to_complex(dtype))


def real_of_spectrum(self: Along, dim: Dims, last_dim_size: int) -> Plan:
    """Plan the real numbers that have these transforms over `dim`, `last_dim_size` of them along the last dimension.

    Raises RuntimeError for real numbers, without dimensions, and for no elements.
    """
    dtype = to_real(_complex("_fft_c2r", self))
    *others, last = _given("_fft_c2r", self, dim)
    if not holds(last_dim_size >= 1):
        raise RuntimeError(f"_fft_c2r: expected at least one element, but got last_dim_size={last_dim_size}")
    if not holds(self.shape[last] >= 1):
        raise RuntimeError(f"_fft_c2r: dimension {last} must have at least one element, but the shape is {self.shape}")
    strides = element_strides(self)
    if others:
        strides = _transformed(self.shape, strides, _slowest_first(others, strides))
    shape = (*self.shape[:last], last_dim_size, *self.shape[last + 1 :])
    return _plan(self, shape, _transformed(shape, strides, (last,)), dtype)


def _plan(self: Along, shape: Shape, strides: Shape, dtype: DType) -> Plan:
    return Plan(TensorSpec(shape, strides, dtype, casts=(False,)), (self,))


def _complex(operator: str, self: Along) -> DType:
    dtype = as_dtype(self.dtype)
    if dtype not in COMPLEX:
        raise RuntimeError(f"{operator}: expected a complex dtype, but got {dtype}")
    return dtype


def _given(operator: str, self: Along, dim: Dims) -> Sequence[int]:
    if not dim:
        raise RuntimeError(f"{operator}: expected at least one dimension")
    return _wrapped(operator, self, dim)


def _wrapped(operator: str, self: Along, dim: Dims) -> Sequence[int]:
    if not self.ndim:
        raise IndexError(f"{operator}: expected a tensor with dimensions, but got one without and dim={dim}")
    return wrap_dims(dim, self.ndim)


def _slowest_first(dims: Sequence[int], strides: Shape) -> Sequence[int]:
    """Return dimensions in the order of their strides, the largest first; equal ones keep theirs."""

    def compare(one: int, other: int) -> int:
        return _compared(strides[one], strides[other])

    return sorted(dims, key=cmp_to_key(compare))


def _compared(one: int, other: int) -> int:
    return -1 if guard_or_false(one > other) else 1 if guard_or_false(one < other) else 0


def _transformed(shape: Shape, strides: Shape, dims: Sequence[int]) -> Shape:
    """Return the strides of a result that is contiguous with the transformed dimensions last, the others before them
    in the order of the strides given."""
    others = _slowest_first([each for each in range(len(shape)) if each not in dims], strides)
    return layouts.ordered_strides(shape, (*others, *dims))
