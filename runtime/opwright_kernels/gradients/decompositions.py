"""Backward functions of eigenvalues and singular values, of what is computed with factors, and of distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.arrays.dtypes import COMPLEX, as_dtype
from opwright_kernels.gradients.linear_algebra import gaps
from opwright_kernels.gradients.reductions import add_gradients, norm_slope

Tensor = Any
aten = opwright.ops.aten


def _triangle(matrix: Tensor, upper: bool) -> Tensor:
    return aten.triu(matrix) if upper else aten.tril(matrix)


def cholesky_inverse_backward(grad: Tensor, factor: Tensor, result: Tensor, upper: bool) -> Tensor:
    """Return the gradient of the inverse of L @ L^H (or U^H @ U), in the triangle that the factor is."""
    common = result @ ((grad + grad.mH) @ result)
    factor = _triangle(factor, upper)
    return _triangle(-factor @ common if upper else -common @ factor, upper)


def cholesky_solve_backward(
    grad: Tensor, factor: Tensor, result: Tensor, upper: bool, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of the right side and of the factor."""
    of_right = aten.cholesky_solve(grad, factor, upper)
    if not mask[1]:
        return of_right, None
    common = of_right @ result.mH
    common = common + common.mH
    factor = _triangle(factor, upper)
    of_factor = _triangle(-factor @ common if upper else -common @ factor, upper)
    return of_right if mask[0] else None, of_factor


def distance_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    """Return the gradient of each difference of a row of `x1` and one of `x2`. Of the largest each has it all, as if it
    were alone: in norms they share it."""
    difference = aten.unsqueeze(x1, -2) - aten.unsqueeze(x2, -3)
    if p in (1.0, math.inf):  # their sign function keeps NaN
        is_nan = difference != difference
        slope = aten.where(is_nan, difference, aten.sgn(difference)) * aten.unsqueeze(grad, -1)
        is_largest = aten.abs(difference) == aten.unsqueeze(result, -1)
        return slope if p == 1.0 else aten.where(is_largest | is_nan, slope, 0)
    return norm_slope(grad, difference, p, result, -1, False)


def _cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    """Return the gradient of the first rows of `cdist`: of each row, those of its distances, added."""
    return aten.sum(distance_backward(grad, x1, x2, p, result), [-2])


def lu_backward(grad_l: Tensor | None, grad_u: Tensor | None, P: Tensor | None, L: Tensor, U: Tensor) -> Tensor | None:
    """Return P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H; without P for no pivoting.

    Of a matrix that is not square, this is the gradient of its square corner, and what lies beyond follows from it.
    """
    if grad_l is None and grad_u is None:
        return None
    size = min(L.shape[-2], U.shape[-1])
    corner_l, corner_u = aten.narrow(L, -2, 0, size), aten.narrow(U, -1, 0, size)
    inner_l: Any = None if grad_l is None else corner_l.mH @ aten.narrow(grad_l, -2, 0, size)
    inner_u: Any = None if grad_u is None else aten.narrow(grad_u, -1, 0, size) @ corner_u.mH
    below = beside = None
    if U.shape[-1] > size and grad_u is not None:
        rest = U.shape[-1] - size
        moved, there = aten.narrow(grad_u, -1, size, rest), aten.narrow(U, -1, size, rest)
        beside = aten.linalg_solve_triangular(L.mH, moved, upper=True, unitriangular=True)
        inner_l = add_gradients(inner_l, -moved @ there.mH)
    if L.shape[-2] > size and grad_l is not None:
        rest = L.shape[-2] - size
        moved, there = aten.narrow(grad_l, -2, size, rest), aten.narrow(L, -2, size, rest)
        below = aten.linalg_solve_triangular(U.mH, moved, upper=False, left=False)
        inner_u = add_gradients(inner_u, -there.mH @ moved)
    strict = None if inner_l is None else aten.tril(inner_l, -1)
    inner = add_gradients(strict, None if inner_u is None else aten.triu(inner_u))
    found = aten.linalg_solve_triangular(corner_l.mH, inner, upper=True, unitriangular=True)
    found = aten.linalg_solve_triangular(corner_u.mH, found, upper=False, left=False)
    if U.shape[-1] > size:
        rest = [*found.shape[:-1], U.shape[-1] - size]
        found = aten.cat([found, aten.new_zeros(found, rest) if beside is None else beside], -1)
    if L.shape[-2] > size:
        rest = [*found.shape[:-2], L.shape[-2] - size, size]
        found = aten.cat([found, aten.new_zeros(found, rest) if below is None else below], -2)
    return found if P is None else P @ found


def lu_parts(LU: Tensor) -> tuple[Tensor, Tensor]:
    """Return L, with ones on its diagonal, and U, that a matrix of factors holds."""
    rows, columns = LU.shape[-2:]
    size = min(rows, columns)
    ones = aten.eye(rows, size, dtype=LU.dtype, device=LU.device)
    return aten.tril(aten.narrow(LU, -1, 0, size), -1) + ones, aten.triu(aten.narrow(LU, -2, 0, size))


def rows_pivoted(value: Tensor, pivots: Tensor, undone: bool = False) -> Tensor:
    """Return P^T @ value, or P @ value: the rows in the order that the pivots put them in."""
    rows, count = value.shape[-2], pivots.shape[-1]
    positions = aten.arange(rows, device=pivots.device).expand([*pivots.shape[:-1], rows])
    for step in range(count):
        one = aten.to(aten.narrow(pivots, -1, step, 1), positions.dtype) - 1
        other = aten.gather(positions, -1, one)
        here = aten.narrow(positions, -1, step, 1)
        positions = aten.slice_scatter(aten.scatter(positions, -1, one, here), other, -1, step, step + 1)
    order = aten.argsort(positions, dim=-1) if undone else positions
    order = aten.unsqueeze(order, -1).expand([*value.shape[:-2], rows, value.shape[-1]])
    return aten.gather(value, -2, order)


def lu_factor_backward(grad: Tensor, LU: Tensor, pivots: Tensor, pivot: bool) -> Tensor | None:
    """Return the gradient of L and U, which share a matrix."""
    L, U = lu_parts(LU)
    size = L.shape[-1]
    found = lu_backward(aten.narrow(grad, -1, 0, size), aten.narrow(grad, -2, 0, size), None, L, U)
    return rows_pivoted(found, pivots, undone=True) if pivot else found


def lu_solve_backward(grad: Tensor, LU: Tensor, pivots: Tensor, X: Tensor, left: bool, adjoint: bool) -> Tensor:
    """Return the gradient of the factors: from that of their product A, which is minus the right side's times X^H."""
    L, U = lu_parts(LU)
    of_right = aten.linalg_lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint)
    if adjoint:
        of_product = -X @ of_right.mH if left else -of_right.mH @ X
    else:
        of_product = -of_right @ X.mH if left else -X.mH @ of_right
    of_product = rows_pivoted(of_product, pivots)
    return aten.tril(of_product @ U.mH, -1) + aten.triu(L.mH @ of_product)


def pinv_backward(grad: Tensor, A: Tensor, P: Tensor) -> Tensor:
    """Return -P^H g P^H + (1 - A P) g^H P P^H + P^H P g^H (1 - P A)."""
    first = grad.mH @ P
    second = P @ grad.mH
    of_rows = first @ P.mH
    of_columns = P.mH @ second
    return of_rows - A @ (P @ of_rows) + of_columns - (of_columns @ P) @ A - P.mH @ (grad @ P.mH)


def eig_backward(grad_values: Tensor | None, grad_vectors: Tensor | None, values: Tensor, vectors: Tensor) -> Any:
    """Return V^-H (diag(grad_values) + (V^H gV - V^H V Re(diag(V^H gV))) / conj(gaps)) V^H."""
    if grad_vectors is None:
        if grad_values is None:
            return None
        inner = aten.diag_embed(grad_values)
    else:
        inner = vectors.mH @ grad_vectors
        along = aten.real(aten.diagonal(inner, 0, -2, -1))
        inner = (inner - (vectors.mH @ vectors) * aten.unsqueeze(along, -2)) / aten.conj(gaps(values))
        inner = aten.tril(inner, -1) + aten.triu(inner, 1)
        if grad_values is not None:
            inner = inner + aten.diag_embed(grad_values)
    return aten._linalg_solve_ex(vectors.mH, inner @ vectors.mH)[0]


def svd_backward(
    grad_u: Tensor | None, grad_s: Tensor | None, grad_vh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor
) -> Tensor | None:
    """Return the gradient of the reduced factors; singular vectors need singular values that differ.

    U [(skew(U^H gU) / E) S + S (skew(V^H gV) / E) + diag(gS)] V^H, and what lies outside the spaces of U and V; where
    E is how far the square of one singular value is above that of another. Of full matrices, what is beyond the
    reduced ones moves with the space that these leave.
    """
    if not U.numel() and S.numel():
        raise RuntimeError("_linalg_svd has no gradient with compute_uv=False: it does not compute what that needs")
    U, grad_u = _reduced(U, grad_u, S.shape[-1])
    V, grad_v = _reduced(Vh.mH, None if grad_vh is None else grad_vh.mH, S.shape[-1])
    Vh, grad_vh = V.mH, None if grad_v is None else grad_v.mH
    if grad_u is None and grad_vh is None:
        return None if grad_s is None else (U * aten.unsqueeze(grad_s, -2)) @ Vh
    E = gaps(S * S)
    rows, columns = aten.unsqueeze(S, -2), aten.unsqueeze(S, -1)
    inner: Any = 0
    if grad_u is not None:
        turn = U.mH @ grad_u
        turn = turn - turn.mH
        inner = turn / E * rows
        if as_dtype(turn.dtype) in COMPLEX:
            inner = inner - aten.diag_embed(aten.diagonal(inner, 0, -2, -1))
            inner = inner + aten.diag_embed(aten.diagonal(turn, 0, -2, -1) / (2 * S))
    if grad_vh is not None:
        turn = Vh @ grad_vh.mH
        turn = (turn - turn.mH) / E
        inner = inner + columns * (turn - aten.diag_embed(aten.diagonal(turn, 0, -2, -1)))
    if grad_s is not None:
        inner = inner + aten.diag_embed(grad_s)
    found = U @ inner
    if grad_u is not None and U.shape[-2] > U.shape[-1]:
        outside = grad_u / rows
        found = found + outside - U @ (U.mH @ outside)
    found = found @ Vh
    if grad_vh is not None and Vh.shape[-1] > Vh.shape[-2]:
        outside = grad_vh / columns
        found = found + U @ (outside - (outside @ Vh.mH) @ Vh)
    return found


def _reduced(U: Tensor, grad: Tensor | None, count: int) -> tuple[Tensor, Tensor | None]:
    """Return the first singular vectors, and their gradient: others, W, stay orthogonal to them by W_t = -U U_t^H W."""
    beyond = U.shape[-1] - count
    U, W = aten.narrow(U, -1, 0, count), aten.narrow(U, -1, count, beyond)
    if grad is None or not beyond:
        return U, grad
    grad, grad_w = aten.narrow(grad, -1, 0, count), aten.narrow(grad, -1, count, beyond)
    return U, grad - W @ (grad_w.mH @ U)
