"""Products of matrices and vectors. Arrays come in the dtype that is computed in; the rules have checked the shapes."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.core import compiled
from opwright_core.locks.long_calls import call_in_thread, long_from
from opwright_kernels.elementwise.scaled_sums import add_product

Array = Any

_LONG = 1 << 22  # elements of a factor: two square ones take BLAS 0.2 s, narrow ones 2 ms
_LONG_INTEGERS = 1 << 17  # elements of both factors: NumPy takes 4 ns for each product of two integers


@compiled
@long_from(_LONG)
def matrix_product(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Return self @ other, of matrices, of batches of them, or of a matrix and a vector (`mm`, `bmm`, `mv`)."""
    if xp is np and out is None and self.ndim < 3 and other.ndim < 3 and self.dtype.kind in "fc":
        return self.dot(other)  # which hands it to BLAS at once
    if xp is np and out is None and self.size + other.size >= _LONG_INTEGERS and self.dtype.kind in "biu":
        return call_in_thread(np.matmul, self, other)
    return xp.matmul(self, other, out=out)


@compiled
@long_from(_LONG)
def product_sum(
    xp: ModuleType, self: Array, first: Array, second: Array, beta: complex, alpha: complex, out: Array | None = None
) -> Array:
    """Return beta * self + alpha * (first @ second) (`addmm`, `addmv`, `baddbmm`)."""
    product = matrix_product(xp, first, second)
    if alpha == beta == 1 and out is None:
        return xp.add(self, product, out=product)
    return _add_scaled(xp, self, product, beta, alpha, out, lambda: matrix_product(xp, first, second))


@long_from(_LONG)
def sum_of_products(
    xp: ModuleType, self: Array, batch1: Array, batch2: Array, beta: complex, alpha: complex, out: Array | None = None
) -> Array:
    """Return beta * self + alpha * the sum of matrix products (`addbmm`): one product of all rows and columns."""

    def product_anew() -> Array:
        return xp.tensordot(batch1, batch2, axes=((0, 2), (0, 1)))

    return _add_scaled(xp, self, product_anew(), beta, alpha, out, product_anew)


def outer_sum(
    xp: ModuleType, self: Array, vec1: Array, vec2: Array, beta: complex, alpha: complex, out: Array | None = None
) -> Array:
    """Return beta * self + alpha * the products of all pairs of elements (`addr`)."""
    if self.dtype.kind == "b":
        product = xp.logical_and(xp.logical_and(vec1[:, None], vec2), bool(alpha))
        return xp.logical_or(xp.logical_and(self, bool(beta)), product, out=out)
    column = vec1 if alpha == 1 else xp.multiply(vec1, _as_element(vec1, alpha))
    if beta == 0:
        return xp.multiply(column[:, None], vec2, out=out)
    added = self if beta == 1 else xp.multiply(self, _as_element(self, beta))
    return add_product(xp, added, column[:, None], vec2, out)


def _add_scaled(
    xp: ModuleType,
    self: Array,
    product: Array,
    beta: complex,
    alpha: complex,
    out: Array | None,
    anew: Callable[[], Array],
) -> Array:
    """Add scaled terms; where beta is 0, `self` is not read, so that its NaNs do not show. `anew` computes the product
    again."""
    alpha, beta = _as_element(product, alpha), _as_element(product, beta)
    target = product if out is None else out
    if beta == 0:
        return product if alpha == 1 and out is None else xp.multiply(product, alpha, out=target)
    added = self if beta == 1 else xp.multiply(self, beta)
    return xp.add(added, product, out=target) if alpha == 1 else add_product(xp, added, product, alpha, out, anew)


def _as_element(array: Array, value: complex) -> Any:
    return array.dtype.type(value)


@compiled
def cross_product(xp: ModuleType, self: Array, other: Array, dim: int) -> Array:
    """Return the vector product along `dim`, which has three positions; the other dimensions broadcast."""
    axis = dim % self.ndim
    a, b = ([each[(slice(None),) * axis + (position,)] for position in range(3)] for each in (self, other))
    return xp.stack([a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))], axis=axis)


_ELEMENTS_AT_ONCE = 1 << 22


@compiled
def distances(xp: ModuleType, x1: Array, x2: Array, p: float, compute_mode: int | None) -> Array:
    """Return the p-norm of the difference of each row of `x1` and each row of `x2` (`_cdist_forward`); some rows of
    `x1` at a time, so that the differences fit into caches and memory."""
    batch = xp.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    result = xp.empty((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
    rows = max(1, _ELEMENTS_AT_ONCE // max(1, result[..., :1, :].size * x1.shape[-1]))
    for start in range(0, x1.shape[-2], rows):
        part = x1[..., start : start + rows, None, :] - x2[..., None, :, :]
        result[..., start : start + rows, :] = row_norms(xp, part, p)
    return result


def row_norms(xp: ModuleType, part: Array, p: float) -> Array:
    """Return the p-norms along the last dimension; `part` is overwritten."""
    if not part.shape[-1]:
        return xp.zeros(part.shape[:-1], part.dtype)
    if p == 0:
        return xp.where(xp.isnan(part), part, part != 0).sum(axis=-1)
    if p == 2:
        return xp.sqrt(xp.square(part, out=part).sum(axis=-1))
    xp.abs(part, out=part)
    if p == 1:
        return part.sum(axis=-1)
    if p == float("inf"):
        return part.max(axis=-1)
    return xp.power(xp.power(part, p, out=part).sum(axis=-1), 1 / p)
