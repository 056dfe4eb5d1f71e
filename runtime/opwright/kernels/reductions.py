"""Reductions over none, some or all dimensions.

`dim` is None, a dimension or a list of them, negative ones counted from the end; None and the empty list mean every
dimension (but for `any` and `all`, where an empty list reduces nothing). Kernels get arrays already in the dtype they
compute in; the rules `reduce` and `scan` have checked the dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from opwright.dtypes import COMPLEX

Array = Any
Dims = int | Sequence[int] | None


def axes(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The axes that `dim` names, as NumPy wants them: every axis for None and the empty list."""
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, int):
        return (dim % ndim,) if ndim else ()
    if not dim or not ndim:
        return tuple(range(ndim))
    return tuple(each % ndim for each in dim)


def total(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, dtype: Any = None) -> Array:
    """The sum over `dim`."""
    return xp.sum(self, axis=axes(dim, self.ndim), keepdims=keepdim)


def product(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, dtype: Any = None) -> Array:
    """The product over `dim`."""
    return xp.prod(self, axis=axes(dim, self.ndim), keepdims=keepdim)


def average(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, dtype: Any = None) -> Array:
    """The sum over `dim` divided by the number of elements; NaN where there are none."""
    over = axes(dim, self.ndim)
    return xp.true_divide(xp.sum(self, axis=over, keepdims=keepdim), _count(self, over), dtype=self.dtype)


def largest(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """The maximum over `dim`; NaN where there is one."""
    return xp.amax(self, axis=axes(dim, self.ndim), keepdims=keepdim)


def smallest(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """The minimum over `dim`; NaN where there is one."""
    return xp.amin(self, axis=axes(dim, self.ndim), keepdims=keepdim)


def truth_of_any(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """Whether any element over `dim` is not zero; an empty list of dimensions reduces nothing."""
    return xp.any(self, axis=_listed_axes(dim, self.ndim), keepdims=keepdim)


def truth_of_all(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """Whether all elements over `dim` are not zero; an empty list of dimensions reduces nothing."""
    return xp.all(self, axis=_listed_axes(dim, self.ndim), keepdims=keepdim)


def _listed_axes(dim: Dims, ndim: int) -> tuple[int, ...]:
    return () if dim is not None and not isinstance(dim, int) and not dim else axes(dim, ndim)


def variance(xp: ModuleType, self: Array, dim: Dims, correction: float | None, keepdim: bool) -> Array:
    """The mean squared distance from the mean, divided by N - correction (1 where None), in two passes; real for
    complex input."""
    over = axes(dim, self.ndim)
    count = _count(self, over)
    freedom = max(count - (1 if correction is None else correction), 0)
    if not count:
        return xp.full_like(xp.sum(self.real, axis=over, keepdims=keepdim), float("nan"))
    distance = self - xp.true_divide(xp.sum(self, axis=over, keepdims=True), count, dtype=self.dtype)
    real, imaginary = distance.real, distance.imag
    squares = real * real + imaginary * imaginary if self.dtype in COMPLEX else distance * distance
    summed = xp.sum(squares, axis=over, keepdims=keepdim)
    return xp.true_divide(summed, freedom, dtype=squares.dtype)


def deviation(xp: ModuleType, self: Array, dim: Dims, correction: float | None, keepdim: bool) -> Array:
    """The square root of `variance`."""
    return xp.sqrt(variance(xp, self, dim, correction, keepdim))


def position_of_largest(xp: ModuleType, self: Array, dim: int | None, keepdim: bool) -> Array:
    """The index of the first maximum along `dim`, or in the flattened array; NaN counts as the largest."""
    return _position(xp, xp.argmax, self, dim, keepdim)


def position_of_smallest(xp: ModuleType, self: Array, dim: int | None, keepdim: bool) -> Array:
    """The index of the first minimum along `dim`, or in the flattened array; NaN counts as the smallest."""
    return _position(xp, xp.argmin, self, dim, keepdim)


def _position(xp: ModuleType, find: Any, self: Array, dim: int | None, keepdim: bool) -> Array:
    if dim is None or not self.ndim:
        index = xp.asarray(find(self))
        return index.reshape((1,) * self.ndim) if keepdim else index
    index = find(self, axis=dim)
    return xp.expand_dims(index, dim) if keepdim else index


def largest_and_position(xp: ModuleType, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The maxima along `dim` and their first indices; NaN counts as the largest."""
    return _value_and_position(xp, xp.argmax, self, dim, keepdim)


def smallest_and_position(xp: ModuleType, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The minima along `dim` and their first indices; NaN counts as the smallest."""
    return _value_and_position(xp, xp.argmin, self, dim, keepdim)


def _value_and_position(xp: ModuleType, find: Any, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    if not self.ndim:
        return self.copy(), xp.zeros((), dtype="int64")
    index = xp.expand_dims(find(self, axis=dim), dim)
    values = xp.take_along_axis(self, index, axis=dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def running_total(xp: ModuleType, self: Array, dim: int, dtype: Any = None, out: Array | None = None) -> Array:
    """The sums of all elements up to each one along `dim`."""
    return xp.cumsum(self, axis=dim, out=out) if self.ndim else xp.add(self, 0, out=out)


def running_product(xp: ModuleType, self: Array, dim: int, dtype: Any = None, out: Array | None = None) -> Array:
    """The products of all elements up to each one along `dim`."""
    return xp.cumprod(self, axis=dim, out=out) if self.ndim else xp.add(self, 0, out=out)


def _count(self: Array, over: tuple[int, ...]) -> int:
    count = 1
    for axis in over:
        count *= self.shape[axis]
    return count
