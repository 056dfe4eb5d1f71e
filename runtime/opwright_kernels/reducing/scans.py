"""Cumulative sums, products, maxima, minima and logsumexp along `dim`.

Arrays come in the dtype that is computed in; the rule `scan` has checked the dimension.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.core import compiled

Array = Any


@compiled
def running_total(xp: ModuleType, self: Array, dim: int, dtype: Any = None, out: Array | None = None) -> Array:
    """Return the sums of all elements up to each one along `dim`."""
    if not self.ndim:
        return xp.add(self, 0, out=out)
    return np.add.accumulate(self, dim, None, out) if xp is np else xp.cumsum(self, axis=dim, out=out)


@compiled
def running_product(xp: ModuleType, self: Array, dim: int, dtype: Any = None, out: Array | None = None) -> Array:
    """Return the products of all elements up to each one along `dim`."""
    if not self.ndim:
        return xp.add(self, 0, out=out)
    return np.multiply.accumulate(self, dim, None, out) if xp is np else xp.cumprod(self, axis=dim, out=out)


@compiled
def running_largest(xp: ModuleType, self: Array, dim: int) -> tuple[Array, Array]:
    """Return the largest element up to each one along `dim`, and where it last stood; NaN counts as the largest."""
    return _running_extremum(xp, xp.maximum, self, dim)


@compiled
def running_smallest(xp: ModuleType, self: Array, dim: int) -> tuple[Array, Array]:
    """Return the smallest element up to each one along `dim`, and where it last stood; NaN counts as the smallest."""
    return _running_extremum(xp, xp.minimum, self, dim)


def _running_extremum(xp: ModuleType, better: Any, self: Array, dim: int) -> tuple[Array, Array]:
    if not self.ndim:
        return self.copy(), xp.zeros((), dtype="int64")
    values = running(xp, better, self, dim)
    is_new = values == self
    if self.dtype.kind == "f":
        is_new |= xp.isnan(self)
    positions = xp.arange(self.shape[dim]).reshape([-1] + [1] * (self.ndim - 1 - dim % self.ndim))
    return values, running(xp, xp.maximum, xp.where(is_new, positions, 0), dim)


def running_logsumexp(xp: ModuleType, self: Array, dim: int) -> Array:
    """Return the logarithm of the running sum of exponentials along `dim`, without overflow."""
    if not self.ndim:
        return self.copy()
    if self.dtype.kind == "c":
        # One after the other, on CUDA too: which multiple of 2π the angles have depends on the order.
        return _running_in_order(lambda first, second: _add_in_logarithms(xp, first, second), self, dim)
    return running(xp, xp.logaddexp, self, dim)


def _add_in_logarithms(xp: ModuleType, first: Array, second: Array) -> Array:
    """Return log(exp(first) + exp(second)) of complex numbers."""
    is_larger = first.real > second.real
    larger = xp.where(is_larger, first, second)
    difference = xp.where(is_larger, second, first) - larger
    # Equal infinite parts have no difference; both terms are zero, or the sum is infinite.
    same = (first.real == second.real) & xp.isinf(first.real)
    return xp.where(same, larger, larger + xp.log1p(xp.exp(difference)))


def running(xp: ModuleType, combine: Any, self: Array, dim: int) -> Array:
    """Apply a ufunc to all elements up to each one along `dim`."""
    if xp is np:
        return combine.accumulate(self, axis=dim)
    return _running_by_doubling(combine, self, dim)


def _running_in_order(combine: Any, self: Array, dim: int) -> Array:
    """Put each element to the sum of those before it."""
    result = self.copy()
    along = result.swapaxes(dim, 0)
    for position in range(1, len(along)):
        along[position] = combine(along[position - 1], along[position])
    return result


def _running_by_doubling(combine: Any, self: Array, dim: int) -> Array:
    """Put runs of 1, 2, 4, … elements together: as many steps as the length has bits, each over whole arrays."""
    result = self.copy()
    along = result.swapaxes(dim, 0)
    step = 1
    while step < len(along):
        along[step:] = combine(along[:-step], along[step:])
        step *= 2
    return result
