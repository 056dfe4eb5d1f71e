"""Norms of matrices, condition numbers and distances. They see Tensors of any device."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import opwright
from opwright_core.arrays import layouts
from opwright_core.arrays.sizes import guard_or_false, guard_or_true, holds
from opwright_kernels.rules.matrices import check_inexact, check_matrices, check_square

Operand = Any  # a Tensor
Order = Any  # a number, `fro` or `nuc`

_ORDERS = (1, -1, 2, -2, inf, -inf, "fro", "nuc")


def linalg_matrix_norm(self: Operand, ord: Order, dim: Sequence[int], keepdim: bool, dtype: Any) -> Operand:
    """Return a norm of the matrices in two dimensions: `fro`, `nuc`, the largest (or, negative, smallest) singular
    value for 2, the largest or smallest sum of a column for 1, of a row for inf."""
    aten = opwright.ops.aten
    if ord not in _ORDERS:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    check_matrices("linalg.matrix_norm", self)
    check_inexact("linalg.matrix_norm", self)
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(dim)}")
    first, second = (layouts.wrap_dim(each, len(self.shape)) for each in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    if ord == "fro":
        return aten.linalg_vector_norm(self, 2, [first, second], keepdim, dtype=dtype)
    if dtype is not None:
        self = aten.to(self, dtype)
    if ord in ("nuc", 2, -2):
        return _norm_of_singular_values(self, ord, first, second, keepdim)
    along, across = (first, second) if ord in (1, -1) else (second, first)
    sums = aten.linalg_vector_norm(self, 1, [along], keepdim)
    if across > along and not keepdim:
        across -= 1
    return _extreme(sums, ord > 0, across, keepdim)


def _norm_of_singular_values(self: Operand, ord: Order, first: int, second: int, keepdim: bool) -> Operand:
    aten = opwright.ops.aten
    rest = [dim for dim in range(len(self.shape)) if dim not in (first, second)]
    order = [*rest, first, second]
    values = aten.linalg_svdvals(aten.permute(self, order))
    norm = aten.sum(values, [-1], keepdim) if ord == "nuc" else _extreme(values, ord == 2, -1, keepdim)
    if not keepdim:
        return norm
    return aten.permute(aten.unsqueeze(norm, -1), [order.index(dim) for dim in range(len(order))])


def _extreme(values: Operand, largest: bool, dim: int, keepdim: bool) -> Operand:
    """Return the largest or smallest ones along `dim`; the largest of none is 0."""
    aten = opwright.ops.aten
    if not largest:
        return aten.amin(values, [dim], keepdim)
    if guard_or_false(values.shape[dim] == 0):
        return aten.sum(values, [dim], keepdim)
    return aten.amax(values, [dim], keepdim)


def linalg_norm(self: Operand, ord: Order, dim: Sequence[int] | None, keepdim: bool, dtype: Any) -> Operand:
    """Return a norm of vectors or matrices, as `dim` has one dimension or two, or as `self` has; the 2-norm of all
    elements where there is no `ord`."""
    aten = opwright.ops.aten
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is None:
        return aten.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
    ndim = len(self.shape)
    if dim is None and ndim not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D.")
    if isinstance(ord, str) or (ndim if dim is None else len(dim)) == 2:
        return aten.linalg_matrix_norm(self, ord, [0, 1] if dim is None else dim, keepdim, dtype=dtype)
    return aten.linalg_vector_norm(self, ord, dim, keepdim, dtype=dtype)


def nuclear_norm(self: Operand, dim: Sequence[int], keepdim: bool) -> Operand:
    """Return the sum of the singular values of the matrices in two dimensions."""
    return opwright.ops.aten.linalg_matrix_norm(self, "nuc", dim, keepdim)


def linalg_cond(self: Operand, p: Order) -> Operand:
    """Return how much the solution of a system can magnify an error: a norm of the matrix times that of its inverse."""
    aten = opwright.ops.aten
    if len(self.shape) < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p is not None and p not in _ORDERS:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if isinstance(p, str):
        check_square(f"linalg.cond(ord={p})", self)
    if layouts.is_empty(self.shape):
        return aten.abs(aten.new_zeros(self, list(self.shape[:-2])))
    if p is None or p in (2, -2, "nuc"):
        values = aten.linalg_svdvals(self)
        if p == "nuc":
            return aten.mul(aten.sum(values, [-1]), aten.sum(aten.reciprocal(values), [-1]))
        largest, smallest = aten.select(values, -1, 0), aten.select(values, -1, -1)
        return aten.div(smallest, largest) if p == -2 else aten.div(largest, smallest)
    check_square(f"linalg.cond(ord={p})", self)
    inverse, info = aten.linalg_inv_ex(self)
    is_singular = aten.ne(info, 0)
    inverse = aten.masked_fill(inverse, aten.unsqueeze(aten.unsqueeze(is_singular, -1), -1), 0)
    condition = aten.mul(aten.linalg_matrix_norm(self, p), aten.linalg_matrix_norm(inverse, p))
    return aten.masked_fill(condition, is_singular, inf)


# Distances


def cdist(x1: Operand, x2: Operand, p: float, compute_mode: int | None) -> Operand:
    """Return the p-norm distances of each row of `x1` to each row of `x2`; the dimensions before broadcast.

    `compute_mode`: 0 multiplies matrices for p = 2 where there are more than 25 rows, 1 always, 2 never.
    """
    aten = opwright.ops.aten
    for name, each in (("X1", x1), ("X2", x2)):
        if len(each.shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {len(each.shape)}D")
    if not holds(x1.shape[-1] == x2.shape[-1]):
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    mode = 0 if compute_mode is None else compute_mode
    if mode not in (0, 1, 2):
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode}")
    multiplies = mode == 1 or (mode == 0 and (guard_or_false(x1.shape[-2] > 25) or guard_or_false(x2.shape[-2] > 25)))
    if p == 2 and multiplies and guard_or_true(x1.shape[-1] != 0) and x1.dtype == x2.dtype:
        return aten._euclidean_dist(x1, x2)
    return aten._cdist_forward(x1, x2, p, compute_mode)


def euclidean_distances(x1: Operand, x2: Operand) -> Operand:
    """Return distances as square roots of |a|² - 2ab + |b|²: one product of matrices."""
    aten = opwright.ops.aten
    first, second = (aten.sum(aten.mul(each, each), [-1], True) for each in (x1, x2))
    left = aten.cat([aten.mul(x1, -2), first, aten.ones_like(first)], -1)
    right = aten.cat([x2, aten.ones_like(second), second], -1)
    return aten.sqrt(aten.clamp(aten.matmul(left, aten.transpose(right, -2, -1)), min=0))
