"""Tangents of solutions and decompositions."""

from __future__ import annotations

from typing import Any

import opwright
from opwright_core.arrays.dtypes import COMPLEX, as_dtype
from opwright_kernels.gradients.decompositions import lu_parts, rows_pivoted
from opwright_kernels.gradients.linear_algebra import gaps, is_vector

Tensor = Any
aten = opwright.ops.aten


def solve_forward(A_t: Tensor, B_t: Tensor, A: Tensor, X: Tensor, left: bool) -> Tensor:
    """Return the tangent of X in A X = B, or X A = B: it solves the system for B's tangent less that of A times X."""
    if is_vector(A, X):
        return aten.squeeze(solve_forward(A_t, B_t.unsqueeze(-1), A, X.unsqueeze(-1), left), -1)
    change = B_t - (A_t @ X if left else X @ A_t)
    return aten._linalg_solve_ex(A, change, left=left)[0]


def solve_triangular_forward(
    A_t: Tensor, B_t: Tensor, A: Tensor, X: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    """Return the tangent of the solution of a system of which only a triangle of A is read."""
    edge = int(unitriangular)
    A_t = aten.triu(A_t, edge) if upper else aten.tril(A_t, -edge)
    change = B_t - (A_t @ X if left else X @ A_t)
    return aten.linalg_solve_triangular(A, change, upper=upper, left=left, unitriangular=unitriangular)


def older_triangular_solve_forward(
    A_t: Tensor, B_t: Tensor, A: Tensor, X: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> Tensor:
    """Return the tangent of the first result of `triangular_solve`."""
    A, A_t, upper = (A.mT, A_t.mT, not upper) if transpose else (A, A_t, upper)
    return solve_triangular_forward(A_t, B_t, A, X, upper, True, unitriangular)


def lu_forward(A_t: Tensor, P: Tensor | None, L: Tensor, U: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents of L and U, from K = L^-1 P^T A_t U^-1 of the square corner: L tril(K, -1) and triu(K) U;
    what lies beyond the corner follows. Without P for no pivoting."""
    A_t = A_t if P is None else P.mT @ A_t
    size = min(L.shape[-2], U.shape[-1])
    corner_l, corner_u = aten.narrow(L, -2, 0, size), aten.narrow(U, -1, 0, size)
    top = aten.narrow(A_t, -2, 0, size)
    inner = aten.linalg_solve_triangular(corner_l, aten.narrow(top, -1, 0, size), upper=False, unitriangular=True)
    inner = aten.linalg_solve_triangular(corner_u, inner, upper=True, left=False)
    L_t, U_t = corner_l @ aten.tril(inner, -1), aten.triu(inner) @ corner_u
    if (rest := U.shape[-1] - size) > 0:
        change = aten.narrow(top, -1, size, rest) - L_t @ aten.narrow(U, -1, size, rest)
        beside = aten.linalg_solve_triangular(corner_l, change, upper=False, unitriangular=True)
        return L_t, aten.cat([U_t, beside], -1)
    if (rest := L.shape[-2] - size) > 0:
        change = aten.narrow(A_t, -2, size, rest) - aten.narrow(L, -2, size, rest) @ U_t
        below = aten.linalg_solve_triangular(corner_u, change, upper=True, left=False)
        return aten.cat([L_t, below], -2), U_t
    return L_t, U_t


def lu_factor_forward(A_t: Tensor, LU: Tensor, pivots: Tensor, pivot: bool) -> Tensor:
    """Return the tangent of L and U in the matrix that they share."""
    L_t, U_t = lu_forward(rows_pivoted(A_t, pivots) if pivot else A_t, None, *lu_parts(LU))
    rows, columns = LU.shape[-2:]
    return aten.constant_pad_nd(L_t, [0, columns - L_t.shape[-1]]) + aten.constant_pad_nd(
        U_t, [0, 0, 0, rows - U_t.shape[-2]]
    )


def lu_solve_forward(
    LU_t: Tensor, B_t: Tensor, LU: Tensor, pivots: Tensor, X: Tensor, left: bool, adjoint: bool
) -> Tensor:
    """Return the tangent of the solution for a matrix that is P L U, or for its adjoint."""
    L, U = lu_parts(LU)
    A_t = rows_pivoted(aten.tril(LU_t, -1) @ U + L @ aten.triu(LU_t), pivots, undone=True)
    A_t = A_t.mH if adjoint else A_t
    change = B_t - (A_t @ X if left else X @ A_t)
    return aten.linalg_lu_solve(LU, pivots, change, left=left, adjoint=adjoint)


def slogdet_forward(A_t: Tensor, A: Tensor, sign: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents of the sign, which turns where it is complex, and of the logarithm: trace(A^-1 A_t)."""
    trace = aten.diagonal(aten._linalg_solve_ex(A, A_t)[0], 0, -2, -1).sum(-1)
    if as_dtype(A.dtype) not in COMPLEX:
        return aten.zeros_like(sign), trace
    turn = aten.imag(trace)
    return sign * aten.complex(aten.zeros_like(turn), turn), aten.real(trace)


def cholesky_solve_forward(B_t: Tensor, L_t: Tensor, L: Tensor, X: Tensor, upper: bool) -> Tensor:
    """Return the tangent of the solution of A X = B for A = L L^H, or L^H L where L is upper triangular."""
    L, L_t = (aten.triu(each) if upper else aten.tril(each) for each in (L, L_t))
    product = L.mH @ L_t if upper else L_t @ L.mH
    return aten.cholesky_solve(B_t - (product + product.mH) @ X, L, upper)


def cholesky_inverse_forward(L_t: Tensor, L: Tensor, K: Tensor, upper: bool) -> Tensor:
    """Return the tangent of K = (L L^H)^-1."""
    L, L_t = (aten.triu(each) if upper else aten.tril(each) for each in (L, L_t))
    product = L.mH @ L_t if upper else L_t @ L.mH
    return -K @ (product + product.mH) @ K


def pinv_forward(A_t: Tensor, A: Tensor, P: Tensor) -> Tensor:
    """Return -P A_t P + P P^H A_t^H (1 - A P) + (1 - P A) A_t^H P^H P."""
    adjoint = A_t.mH
    first = P @ P.mH @ adjoint
    second = adjoint @ P.mH @ P
    return -P @ A_t @ P + first - first @ A @ P + second - P @ A @ second


def qr_forward(A_t: Tensor, Q: Tensor, R: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """Return the tangents of both factors of a matrix, the square part of which has an inverse."""
    if mode == "r":
        raise RuntimeError("linalg_qr has no tangent in mode 'r': it does not compute Q, which that needs")
    rows, columns = R.shape[-2:]
    if rows > columns:
        raise RuntimeError("linalg_qr has no tangent in mode 'complete' for a matrix that is higher than wide")
    square = aten.narrow(R, -1, 0, rows)
    scaled = aten.linalg_solve_triangular(square, aten.narrow(A_t, -1, 0, rows), upper=True, left=False)
    inner = Q.mH @ scaled
    lower = aten.tril(inner, -1)
    turn = lower - lower.mH
    if as_dtype(inner.dtype) in COMPLEX:
        angles = aten.imag(aten.diagonal(inner, 0, -2, -1))
        turn = turn + aten.diag_embed(aten.complex(aten.zeros_like(angles), angles))
    inner = inner - turn
    Q_t = scaled - Q @ inner
    R_t = inner @ square
    if columns > rows:
        A_rest, R_rest = (aten.narrow(each, -1, rows, columns - rows) for each in (A_t, R))
        R_t = aten.cat([R_t, Q.mH @ (A_rest - Q_t @ R_rest)], -1)
    return Q_t, R_t


def eig_forward(A_t: Tensor, values: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents of both results; eigenvectors keep their length."""
    inner = aten._linalg_solve_ex(vectors, A_t.to(vectors.dtype) @ vectors)[0]
    turned = inner / gaps(values)
    turned = vectors @ (aten.tril(turned, -1) + aten.triu(turned, 1))
    along = aten.real(aten.sum(aten.conj(vectors) * turned, [-2], True))
    return aten.diagonal(inner, 0, -2, -1), turned - vectors * along


def svd_forward(A_t: Tensor, A: Tensor, U: Tensor, S: Tensor, Vh: Tensor) -> tuple[Any, Tensor, Any]:
    """Return the tangents of the factors, where singular values differ. Of full matrices, what is beyond the reduced
    ones moves with the space that these leave, and no further."""
    if not U.numel() and S.numel():  # they were not asked for
        U, S, Vh = aten._linalg_svd(A, False, True)
        return None, _svd_values_forward(A_t, U, Vh)[0], None
    count = S.shape[-1]
    U_rest = aten.narrow(U, -1, count, U.shape[-1] - count)
    Vh_rest = aten.narrow(Vh, -2, count, Vh.shape[-2] - count)
    U, Vh = aten.narrow(U, -1, 0, count), aten.narrow(Vh, -2, 0, count)
    S_t, inner = _svd_values_forward(A_t, U, Vh)
    rows, columns = aten.unsqueeze(S, -2), aten.unsqueeze(S, -1)
    E = gaps(S * S)
    is_complex = as_dtype(A_t.dtype) in COMPLEX
    diagonal = aten.diagonal(inner, 0, -2, -1)
    inner = inner - aten.diag_embed(diagonal)
    left, right = inner * rows, inner * columns
    U_turn, V_turn = (left + left.mH) / E, (right + right.mH) / E
    if is_complex:  # how far each turns by itself is free, and half the angle between them in PyTorch
        angles = aten.imag(diagonal) / (2 * S)
        angles = aten.diag_embed(aten.complex(aten.zeros_like(angles), angles))
        U_turn, V_turn = U_turn + angles, V_turn - angles
    U_t, Vh_t = U @ U_turn, V_turn.mH @ Vh
    if U.shape[-2] > count:
        beyond = A_t @ Vh.mH / rows
        U_t = U_t + beyond - U @ (U.mH @ beyond)
    if Vh.shape[-1] > count:
        beyond = U.mH @ A_t / columns
        Vh_t = Vh_t + beyond - (beyond @ Vh.mH) @ Vh
    if U_rest.shape[-1]:
        U_t = aten.cat([U_t, -U @ (U_t.mH @ U_rest)], -1)
    if Vh_rest.shape[-2]:
        Vh_t = aten.cat([Vh_t, -(Vh_rest @ Vh_t.mH) @ Vh], -2)
    return U_t, S_t, Vh_t


def _svd_values_forward(A_t: Tensor, U: Tensor, Vh: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangent of the singular values, and U^H A_t V, whose diagonal it is."""
    inner = U.mH @ A_t @ Vh.mH
    diagonal = aten.diagonal(inner, 0, -2, -1)
    return aten.real(diagonal) if as_dtype(inner.dtype) in COMPLEX else diagonal, inner
