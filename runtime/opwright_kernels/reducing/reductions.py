"""Reductions over none, some or all dimensions.

`dim` is None, a dimension or a list of them, negative ones counted from the end; None and the empty list mean every
dimension (but for `any` and `all`, where an empty list reduces nothing). Kernels get arrays already in the dtype they
compute in; the rule `reduce` has checked the dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import COMPLEX, check_fits, float64
from opwright_core.core import compiled
from opwright_kernels.moving.indexing import take_along
from opwright_kernels.special_functions.approximation import in_rows

Array = Any
Dims = int | Sequence[int] | None

# `(array, axis, dtype, out, keepdims)`: NumPy's types know the last one by its name alone, which costs time.
reduce_by_add: Any = np.add.reduce
reduce_by_multiply: Any = np.multiply.reduce
reduce_by_maximum: Any = np.maximum.reduce
reduce_by_minimum: Any = np.minimum.reduce

# Methods of the arrays do the work: `xp.sum` and its like would only look for one, in Python, at every call. On the CPU
# it is the ufunc, which NumPy's methods find by more Python.


def axes(dim: Dims, ndim: int) -> Any:
    """Return `dim` as an `axis` of NumPy: None for None and the empty list, and where there are no dimensions."""
    if not ndim or dim is None:
        return None
    return dim if isinstance(dim, int) else tuple(dim) or None


def _truth(self: Array) -> Any:
    """Return the dtype of Booleans for Booleans, whose sum is then whether any is true; None for numbers."""
    return self.dtype if self.dtype.kind == "b" else None


@compiled
def total(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, dtype: Any = None) -> Array:
    """Return the sum over `dim`."""
    over, kind = axes(dim, self.ndim), _truth(self)
    return reduce_by_add(self, over, kind, None, keepdim) if xp is np else self.sum(over, kind, keepdims=keepdim)


@compiled
def whole_total(xp: ModuleType, self: Array, dtype: Any = None) -> Array:
    """Return the sum of all elements."""
    return reduce_by_add(self, None, _truth(self)) if xp is np else self.sum(dtype=_truth(self))


@compiled
def whole_average(xp: ModuleType, self: Array, dtype: Any = None) -> Array:
    """Return the sum of all elements divided by their number."""
    if xp is not np or not self.size or self.dtype.kind not in "fc":
        return self.mean()
    found = reduce_by_add(self, None)
    return found.dtype.type(found / self.size)


@compiled
def product(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, dtype: Any = None) -> Array:
    """Return the product over `dim`."""
    over, kind = axes(dim, self.ndim), _truth(self)
    return reduce_by_multiply(self, over, kind, None, keepdim) if xp is np else self.prod(over, kind, keepdims=keepdim)


@compiled
def whole_product(xp: ModuleType, self: Array, dtype: Any = None) -> Array:
    """Return the product of all elements."""
    if xp is not np or self.dtype.kind != "f" or self.size < 4096 or not self.flags.c_contiguous:
        return reduce_by_multiply(self, None, _truth(self)) if xp is np else self.prod(dtype=_truth(self))
    # In columns first: NumPy multiplies two rows by vector instructions, but the elements of one in turn.
    flat = self.reshape(-1)
    whole = flat.size - flat.size % 1024
    return flat[:whole].reshape(-1, 1024).prod(axis=0).prod() * flat[whole:].prod()


@compiled
def average(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, dtype: Any = None) -> Array:
    """Return the sum over `dim` divided by the number of elements; NaN where there are none."""
    over = axes(dim, self.ndim)
    found = reduce_by_add(self, over, None, None, keepdim) if xp is np else self.sum(axis=over, keepdims=keepdim)
    return xp.true_divide(found, _count(self, over), dtype=self.dtype)


@compiled
def largest(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """Return the maximum over `dim`; NaN where there is one."""
    over = axes(dim, self.ndim)
    return reduce_by_maximum(self, over, None, None, keepdim) if xp is np else self.max(axis=over, keepdims=keepdim)


def smallest(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """Return the minimum over `dim`; NaN where there is one."""
    over = axes(dim, self.ndim)
    return reduce_by_minimum(self, over, None, None, keepdim) if xp is np else self.min(axis=over, keepdims=keepdim)


def truth_of_any(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """Whether any element over `dim` is not zero; an empty list of dimensions reduces nothing."""
    return self.any(axis=_listed_axes(dim, self.ndim), keepdims=keepdim)


def truth_of_all(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """Whether all elements over `dim` are not zero; an empty list of dimensions reduces nothing."""
    return self.all(axis=_listed_axes(dim, self.ndim), keepdims=keepdim)


def _listed_axes(dim: Dims, ndim: int) -> Any:
    return () if dim is not None and not isinstance(dim, int) and not dim else axes(dim, ndim)


def total_without_nan(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, dtype: Any = None) -> Array:
    """Return the sum over `dim`, NaN counting as 0."""
    over = axes(dim, self.ndim)
    if self.dtype.kind != "f":
        return self.sum(over, _truth(self), keepdims=keepdim)
    zero = self.dtype.type(0)
    if xp is np and over is None and not keepdim and self.size > _BLOCK and self.flags.c_contiguous:
        elements = self.reshape(-1)
        blocks = [elements[start : start + _BLOCK] for start in range(0, elements.size, _BLOCK)]
        return np.asarray([np.where(np.isnan(block), zero, block).sum() for block in blocks]).sum(keepdims=False)
    return xp.where(xp.isnan(self), zero, self).sum(axis=over, keepdims=keepdim)


@compiled
def number_of_nonzero(xp: ModuleType, self: Array, dim: Dims) -> Array:
    """Return how many elements over `dim` are not zero."""
    return xp.asarray(xp.count_nonzero(self, axis=axes(dim, self.ndim)))


@compiled
def logsumexp(xp: ModuleType, self: Array, dim: Dims, keepdim: bool) -> Array:
    """Return the logarithm of the sum of exponentials over `dim`, shifted by the maximum so that nothing overflows."""
    over = axes(dim, self.ndim)
    if not self.size:
        return xp.log(self.sum(axis=over, keepdims=keepdim))
    largest = self.real.max(axis=over, keepdims=True)
    shift = xp.where(xp.isfinite(largest), largest, largest.dtype.type(0))
    shifted = xp.asarray(self - shift)
    result = xp.log(xp.exp(shifted, out=shifted).sum(axis=over, keepdims=True)) + shift
    return result if keepdim or not self.ndim else result.squeeze(over)


@compiled
def vector_norm(
    xp: ModuleType,
    self: Array,
    ord: float | None,
    dim: Dims,
    keepdim: bool,
    dtype: Any = None,
) -> Array:
    """Return the sum of |x|**ord over `dim`, to the power of 1/ord (2 where None); the largest or smallest |x| for
    infinite orders, the number of elements that are not zero for 0."""
    order = 2 if ord is None else ord
    check_fits(order, float64)
    over = axes(dim, self.ndim)
    if order == 2:
        return xp.sqrt(_sum_of_squares(xp, self, over, keepdim))
    size = xp.abs(self)
    if order == 0:
        return (size != 0).sum(axis=over, keepdims=keepdim, dtype=size.dtype)
    if order == 1:
        return size.sum(axis=over, keepdims=keepdim)
    if order in (float("inf"), -float("inf")):
        return (size.max if order > 0 else size.min)(axis=over, keepdims=keepdim)
    return ((size**order).sum(axis=over, keepdims=keepdim) ** (1 / order)).astype(size.dtype, copy=False)


def whole_norm(xp: ModuleType, self: Array, p: float | None, dtype: Any = None) -> Array:
    """Return `vector_norm` over all dimensions."""
    return vector_norm(xp, self, p, None, False)


def _sum_of_squares(xp: ModuleType, self: Array, over: Any, keepdim: bool) -> Array:
    """Return the sum of |x|² over some axes; real for complex input."""
    if self.dtype in COMPLEX:
        squares = self.real * self.real
        squares += self.imag * self.imag
    elif over is None and not keepdim:
        elements = self.ravel(order="A")
        return elements.dot(elements)
    elif self.dtype.kind == "f" and _is_last(over, self.ndim) and self.shape[-1] <= _LONGEST_ROW:
        found = xp.einsum("...i,...i->...", self, self)  # without an array of squares
        return found[..., None] if keepdim else found
    else:
        squares = self * self
    return squares.sum(axis=over, keepdims=keepdim)


_LONGEST_ROW = 4096  # elements that are added one after another without losing digits
_BLOCK = 1 << 15  # elements whose distances from the mean are computed at once


def _is_last(over: Any, ndim: int) -> bool:
    """Whether one axis is reduced, the last."""
    return ndim > 0 and over in (-1, ndim - 1, (-1,), (ndim - 1,))


def _sum_of_squared_distances(xp: ModuleType, self: Array, mean: Array, over: Any, keepdim: bool) -> Array:
    """Return the sum of |x - mean|² over some axes: some rows at a time where that needs no copy of them."""
    is_simple = xp is np and self.dtype.kind == "f" and self.size > _BLOCK and self.flags.c_contiguous
    if is_simple and over is None and not keepdim:
        return _sum_in_blocks(self.reshape(-1), mean.reshape(()))
    if not is_simple or not _is_last(over, self.ndim) or self.shape[-1] > _LONGEST_ROW:
        return _sum_in_parts(xp, self, mean, over, keepdim)
    rows, means = self.reshape(-1, self.shape[-1]), mean.reshape(-1, 1)
    result = np.empty(len(rows), self.dtype)
    step = max(1, _BLOCK // self.shape[-1])
    for start in range(0, len(rows), step):
        distance = rows[start : start + step] - means[start : start + step]
        np.einsum("ij,ij->i", distance, distance, out=result[start : start + step])
    return result.reshape(mean.shape if keepdim else mean.shape[:-1])


def _sum_in_parts(xp: ModuleType, self: Array, mean: Array, over: Any, keepdim: bool) -> Array:
    reduced = range(self.ndim) if over is None else [each % self.ndim for each in np.atleast_1d(over)]
    kept = [axis for axis in range(self.ndim) if axis not in reduced]
    if not kept:
        return _sum_of_squares(xp, self - mean, over, keepdim)
    longest = max(kept, key=lambda axis: self.shape[axis])
    found = in_rows(xp, lambda x, m: _sum_of_squares(xp, x - m, over, True), self, mean, axis=longest)
    return found if keepdim else found.squeeze(tuple(reduced))


def _sum_in_blocks(elements: Array, mean: Array) -> Array:
    parts = []
    for start in range(0, elements.size, _BLOCK):
        distance = elements[start : start + _BLOCK] - mean
        parts.append(distance.dot(distance))
    return np.asarray(parts, elements.dtype).sum()


@compiled
def variance(xp: ModuleType, self: Array, dim: Dims, correction: float | None, keepdim: bool) -> Array:
    """Return the mean squared distance from the mean, divided by N - correction (1 where None), in two passes; real for
    complex input."""
    return variance_and_mean(xp, self, dim, correction, keepdim)[0]


@compiled
def deviation(xp: ModuleType, self: Array, dim: Dims, correction: float | None, keepdim: bool) -> Array:
    """Return the square root of `variance`."""
    return xp.sqrt(variance(xp, self, dim, correction, keepdim))


@compiled
def variance_and_mean(
    xp: ModuleType, self: Array, dim: Dims, correction: float | None, keepdim: bool
) -> tuple[Array, Array]:
    """Return `variance`, and the mean."""
    over = axes(dim, self.ndim)
    count = _count(self, over)
    if isinstance(correction, complex):
        check_fits(correction, float64)
        correction = correction.real
    freedom = max(count - (1 if correction is None else correction), 0)
    mean = xp.true_divide(self.sum(axis=over, keepdims=True), count, dtype=self.dtype)
    if count > 1 and self.dtype.kind == "f" and not xp.isfinite(mean).all():
        mean = _stepwise_mean(xp, self, mean, over)
    if count:
        squares = _sum_of_squared_distances(xp, self, mean, over, keepdim)
        spread = xp.true_divide(squares, freedom, dtype=squares.dtype)
    else:
        spread = xp.full_like(self.real.sum(axis=over, keepdims=keepdim), float("nan"))
    return spread, mean if keepdim or not self.ndim else mean.squeeze(over)


def _stepwise_mean(xp: ModuleType, self: Array, mean: Array, over: Any) -> Array:
    """Return the mean as it comes of moving it towards one element after the other: NaN behind an infinity, which only
    the last element may be."""
    reduced = range(self.ndim) if over is None else [over] if isinstance(over, int) else over
    rows = xp.moveaxis(self, tuple(reduced), tuple(range(-len(reduced), 0)))
    rows = rows.reshape(*rows.shape[: self.ndim - len(reduced)], -1)
    is_lost = ~xp.isfinite(rows[..., :-1]).all(axis=-1)
    return xp.where(is_lost.reshape(mean.shape), self.dtype.type("nan"), mean)


@compiled
def deviation_and_mean(
    xp: ModuleType, self: Array, dim: Dims, correction: float | None, keepdim: bool
) -> tuple[Array, Array]:
    """Return the square root of `variance`, and the mean."""
    spread, mean = variance_and_mean(xp, self, dim, correction, keepdim)
    return xp.sqrt(spread), mean


def smallest_and_largest(xp: ModuleType, self: Array, dim: int | None, keepdim: bool) -> tuple[Array, Array]:
    """Return the minimum and the maximum over `dim`; NaN where there is one."""
    return smallest(xp, self, dim, keepdim), largest(xp, self, dim, keepdim)


def position_of_largest(xp: ModuleType, self: Array, dim: int | None, keepdim: bool) -> Array:
    """Return the index of the first maximum along `dim`, or in the flattened array; NaN counts as the largest."""
    return self.argmax(axis=axes(dim, self.ndim), keepdims=keepdim)


def position_of_smallest(xp: ModuleType, self: Array, dim: int | None, keepdim: bool) -> Array:
    """Return the index of the first minimum along `dim`, or in the flattened array; NaN counts as the smallest."""
    return self.argmin(axis=axes(dim, self.ndim), keepdims=keepdim)


@compiled
def largest_and_position(xp: ModuleType, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Return the maxima along `dim` and their first indices; NaN counts as the largest."""
    return _value_and_position(xp, self.argmax, self, dim, keepdim)


@compiled
def smallest_and_position(xp: ModuleType, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Return the minima along `dim` and their first indices; NaN counts as the smallest."""
    return _value_and_position(xp, self.argmin, self, dim, keepdim)


def _value_and_position(xp: ModuleType, find: Any, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    if not self.ndim:
        return self.copy(), xp.zeros((), dtype="int64")
    index = find(axis=dim, keepdims=True)
    values = take_along(xp, self, index, dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def _count(self: Array, over: int | tuple[int, ...] | None) -> int:
    if over is None:
        return int(self.size)
    if isinstance(over, int):
        return int(self.shape[over])
    count = 1
    for axis in over:
        count *= self.shape[axis]
    return count


def hash_of_elements(xp: ModuleType, self: Array, dim: Dims, keepdim: bool, mode: int) -> Array:
    """Return the exclusive or over `dim` of the elements' bits, as float64 or int64."""
    if mode:
        raise RuntimeError(f"hash_tensor: mode must be 0, which is the exclusive or, but got {mode}")
    bits = self.astype(xp.float64 if self.dtype.kind not in "biu" else xp.int64, order="C").view(xp.uint64)
    over = axes(dim, self.ndim)
    over = (
        range(self.ndim) if over is None else [each % self.ndim for each in ([over] if isinstance(over, int) else over)]
    )
    count = int(np.prod([self.shape[each] for each in over], dtype=np.int64))
    shape = [1 if each in over else size for each, size in enumerate(self.shape) if keepdim or each not in over]
    rows = xp.moveaxis(bits, tuple(over), tuple(range(len(over)))).reshape(count, *shape)
    while len(rows) > 1:  # halves are put on each other: CuPy has no `bitwise_xor.reduce`
        half = len(rows) + 1 >> 1
        rows = xp.concatenate([rows[half:] ^ rows[: len(rows) - half], rows[len(rows) - half : half]])
    return rows[0]
