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


# Methods of the arrays do the work: `xp.sum` and its like would only look for one, in Python, at every call.


def axes(dim: Dims, ndim: int) -> Any:
    """What `dim` is as an `axis` of NumPy: None for None and the empty list, and where there are no dimensions."""
    if not ndim or dim is None:
        return None
    return dim if isinstance(dim, int) else tuple(dim) or None


def total(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, dtype: Any = None) -> Array:
    """The sum over `dim`."""
    return self.sum(axis=axes(dim, self.ndim), keepdims=keepdim)


def product(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, dtype: Any = None) -> Array:
    """The product over `dim`."""
    return self.prod(axis=axes(dim, self.ndim), keepdims=keepdim)


def average(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, dtype: Any = None) -> Array:
    """The sum over `dim` divided by the number of elements; NaN where there are none."""
    over = axes(dim, self.ndim)
    return xp.true_divide(self.sum(axis=over, keepdims=keepdim), _count(self, over), dtype=self.dtype)


def largest(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """The maximum over `dim`; NaN where there is one."""
    return self.max(axis=axes(dim, self.ndim), keepdims=keepdim)


def smallest(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """The minimum over `dim`; NaN where there is one."""
    return self.min(axis=axes(dim, self.ndim), keepdims=keepdim)


def truth_of_any(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """Whether any element over `dim` is not zero; an empty list of dimensions reduces nothing."""
    return self.any(axis=_listed_axes(dim, self.ndim), keepdims=keepdim)


def truth_of_all(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """Whether all elements over `dim` are not zero; an empty list of dimensions reduces nothing."""
    return self.all(axis=_listed_axes(dim, self.ndim), keepdims=keepdim)


def _listed_axes(dim: Dims, ndim: int) -> Any:
    return () if dim is not None and not isinstance(dim, int) and not dim else axes(dim, ndim)


def variance(xp: ModuleType, self: Array, dim: Dims, correction: float | None, keepdim: bool) -> Array:
    """The mean squared distance from the mean, divided by N - correction (1 where None), in two passes; real for
    complex input."""
    over = axes(dim, self.ndim)
    count = _count(self, over)
    freedom = max(count - (1 if correction is None else correction), 0)
    if not count:
        return xp.full_like(self.real.sum(axis=over, keepdims=keepdim), float("nan"))
    distance = self - xp.true_divide(self.sum(axis=over, keepdims=True), count, dtype=self.dtype)
    if self.dtype in COMPLEX:
        real, imaginary = distance.real, distance.imag
        squares = real * real + imaginary * imaginary
    else:
        squares = distance * distance
    return xp.true_divide(squares.sum(axis=over, keepdims=keepdim), freedom, dtype=squares.dtype)


def deviation(xp: ModuleType, self: Array, dim: Dims, correction: float | None, keepdim: bool) -> Array:
    """The square root of `variance`."""
    return xp.sqrt(variance(xp, self, dim, correction, keepdim))


def position_of_largest(xp: ModuleType, self: Array, dim: int | None, keepdim: bool) -> Array:
    """The index of the first maximum along `dim`, or in the flattened array; NaN counts as the largest."""
    return _position(xp, self.argmax, self, dim, keepdim)


def position_of_smallest(xp: ModuleType, self: Array, dim: int | None, keepdim: bool) -> Array:
    """The index of the first minimum along `dim`, or in the flattened array; NaN counts as the smallest."""
    return _position(xp, self.argmin, self, dim, keepdim)


def _position(xp: ModuleType, find: Any, self: Array, dim: int | None, keepdim: bool) -> Array:
    if dim is None or not self.ndim:
        index = xp.asarray(find())
        return index.reshape((1,) * self.ndim) if keepdim else index
    index = find(axis=dim)
    return xp.expand_dims(index, dim) if keepdim else index


def largest_and_position(xp: ModuleType, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The maxima along `dim` and their first indices; NaN counts as the largest."""
    return _value_and_position(xp, self.argmax, self, dim, keepdim)


def smallest_and_position(xp: ModuleType, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The minima along `dim` and their first indices; NaN counts as the smallest."""
    return _value_and_position(xp, self.argmin, self, dim, keepdim)


def _value_and_position(xp: ModuleType, find: Any, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    if not self.ndim:
        return self.copy(), xp.zeros((), dtype="int64")
    index = xp.expand_dims(find(axis=dim), dim)
    values = xp.take_along_axis(self, index, axis=dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def running_total(xp: ModuleType, self: Array, dim: int, dtype: Any = None, out: Array | None = None) -> Array:
    """The sums of all elements up to each one along `dim`."""
    return xp.cumsum(self, axis=dim, out=out) if self.ndim else xp.add(self, 0, out=out)


def running_product(xp: ModuleType, self: Array, dim: int, dtype: Any = None, out: Array | None = None) -> Array:
    """The products of all elements up to each one along `dim`."""
    return xp.cumprod(self, axis=dim, out=out) if self.ndim else xp.add(self, 0, out=out)


def _count(self: Array, over: int | tuple[int, ...] | None) -> int:
    if over is None:
        return int(self.size)
    if isinstance(over, int):
        return int(self.shape[over])
    count = 1
    for axis in over:
        count *= self.shape[axis]
    return count
