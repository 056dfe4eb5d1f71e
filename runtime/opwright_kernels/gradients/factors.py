"""Backward functions and tangents of reflections, of LU taken apart, of least squares and of exponentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_kernels.gradients.decompositions import pinv_backward
from opwright_kernels.gradients.forward_linear_algebra import pinv_forward
from opwright_kernels.gradients.reductions import add_gradients

Tensor = Any
aten = opwright.ops.aten


# Reflections


def _columns(A: Tensor, count: int) -> list[Tensor]:
    """Return v of each reflection: 0 above a position of its own, 1 there, and the column of A below it."""
    rows = A.shape[-2]
    positions = aten.unsqueeze(aten.arange(rows, device=A.device), -1)
    below = aten.tril(aten.narrow(A, -1, 0, count), -1)
    ones = aten.eye(rows, count, dtype=A.dtype, device=A.device)
    whole = aten.where(positions == aten.arange(count, device=A.device), ones, below)
    return [aten.narrow(whole, -1, position, 1) for position in range(count)]


def _factors(tau: Tensor) -> list[Tensor]:
    return [aten.unsqueeze(aten.narrow(tau, -1, position, 1), -1) for position in range(tau.shape[-1])]


def _reflect(v: Tensor, factor: Tensor, X: Tensor) -> Tensor:
    return X - factor * (v @ (v.mH @ X))


def reflections_backward(
    grad: Tensor, A: Tensor, tau: Tensor, X: Tensor, adjoint: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of A, tau and X, of the product of the reflections, or of its adjoint, times X.

    Y = H[0] … H[k-1] X. Of one reflection between what comes before it (whose adjoint is applied to the gradient: G)
    and after it (R), tau has the gradient -v^H G R^H v, and v has -(conj(tau) G R^H v + tau R G^H v).
    """
    columns, factors = _columns(A, tau.shape[-1]), _factors(tau)
    if adjoint:
        factors = [each.conj() for each in factors]
    order = list(range(len(columns)))
    order = order[::-1] if adjoint else order
    after = [X]
    for position in reversed(order):
        after.insert(0, _reflect(columns[position], factors[position], after[0]))
    of_columns: dict[int, Tensor] = {}
    of_factors: dict[int, Tensor] = {}
    for position, right in zip(order, after[1:], strict=True):
        v, factor = columns[position], factors[position]
        along, across = right.mH @ v, grad.mH @ v
        of_factor = -(across.mH @ along)
        of_factors[position] = aten.squeeze(of_factor.conj() if adjoint else of_factor, -1)
        of_columns[position] = -(factor.conj() * (grad @ along) + factor * (right @ across))
        grad = _reflect(v, factor.conj(), grad)
    if not columns:
        return aten.zeros_like(A), aten.zeros_like(tau), grad
    of_a = aten.tril(aten.cat([of_columns[position] for position in range(len(columns))], -1), -1)
    of_a = aten.constant_pad_nd(of_a, [0, A.shape[-1] - len(columns)])
    return of_a, aten.cat([of_factors[position] for position in range(len(columns))], -1), grad


def reflections_forward(
    A_t: Tensor, tau_t: Tensor, X_t: Tensor, A: Tensor, tau: Tensor, X: Tensor, adjoint: bool
) -> Tensor:
    """Return the tangent of the product of the reflections, or of its adjoint, times X."""
    columns, factors, changes = _columns(A, tau.shape[-1]), _factors(tau), _factors(tau_t)
    below = aten.tril(A_t, -1)
    order = range(len(columns))
    for position in order if adjoint else reversed(order):
        v, v_t = columns[position], aten.narrow(below, -1, position, 1)
        factor, change = factors[position], changes[position]
        if adjoint:
            factor, change = factor.conj(), change.conj()
        inner = v.mH @ X
        X_t = _reflect(v, factor, X_t) - change * (v @ inner) - factor * (v_t @ inner + v @ (v_t.mH @ X))
        X = X - factor * (v @ inner)
    return X_t


def _first_columns(A: Tensor) -> Tensor:
    return aten.eye(A.shape[-2], A.shape[-1], dtype=A.dtype, device=A.device).expand(A.shape)


def householder_product_backward(grad: Tensor, A: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of the columns and of tau."""
    return reflections_backward(grad, A, tau, _first_columns(A), False)[:2]


def householder_product_forward(A_t: Tensor, tau_t: Tensor, A: Tensor, tau: Tensor) -> Tensor:
    """Return the tangent of the first columns of the product."""
    X = _first_columns(A)
    return reflections_forward(A_t, tau_t, aten.zeros_like(X), A, tau, X, False)


def ormqr_backward(
    grad: Tensor, A: Tensor, tau: Tensor, C: Tensor, left: bool, transpose: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of the columns, of tau and of C."""
    if left:
        return reflections_backward(grad, A, tau, C, transpose)
    of_a, of_tau, of_c = reflections_backward(grad.mH, A, tau, C.mH, not transpose)
    return of_a, of_tau, of_c.mH


def ormqr_forward(
    A_t: Tensor, tau_t: Tensor, C_t: Tensor, A: Tensor, tau: Tensor, C: Tensor, left: bool, transpose: bool
) -> Tensor:
    """Return the tangent of the product with C."""
    if left:
        return reflections_forward(A_t, tau_t, C_t, A, tau, C, transpose)
    return reflections_forward(A_t, tau_t, C_t.mH, A, tau, C.mH, not transpose).mH


# LU taken apart


def lu_unpack_backward(grad_l: Tensor | None, grad_u: Tensor | None, shape: Sequence[int]) -> Tensor | None:
    """Return the gradient of both factors in one matrix: of L below the diagonal, of U from it on."""
    parts = []
    for grad, is_lower in ((grad_l, True), (grad_u, False)):
        if grad is not None and len(grad.shape) > 1:
            own = aten.tril(grad, -1) if is_lower else aten.triu(grad)
            pads = [0, shape[-1] - grad.shape[-1], 0, shape[-2] - grad.shape[-2]]
            parts.append(aten.constant_pad_nd(own, pads))
    if parts:
        return add_gradients(*parts) if len(parts) == 2 else parts[0]
    nothing = grad_l if grad_l is not None else grad_u  # of what was not asked for
    return None if nothing is None else aten.new_zeros(nothing, list(shape))


def lu_unpack_forward(LU_t: Tensor, L: Tensor, U: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents of L and U; of what was not asked for, nothing."""
    if len(L.shape) < 2:
        return aten.zeros_like(L), aten.zeros_like(U)
    return aten.tril(aten.narrow(LU_t, -1, 0, L.shape[-1]), -1), aten.triu(aten.narrow(LU_t, -2, 0, U.shape[-2]))


# Least squares


def _as_columns(A: Tensor, b: Tensor) -> tuple[Tensor, bool]:
    """Return the right sides as matrices, and whether they were vectors."""
    is_vector = len(b.shape) == 1 or (len(b.shape) < len(A.shape) and tuple(b.shape) == tuple(A.shape[:-1]))
    return (aten.unsqueeze(b, -1) if is_vector else b), is_vector


def _summed(grad: Tensor, shape: Sequence[int]) -> Tensor:
    return aten.sum_to_size(grad, list(shape))


def lstsq_backward(
    grad_x: Tensor | None, grad_r: Tensor | None, A: Tensor, b: Tensor, X: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of A and b. The squares of residuals change with these alone: X is where they are least."""
    B, is_vector = _as_columns(A, b)
    of_a = of_b = None
    if grad_x is not None:
        grad_x = aten.unsqueeze(grad_x, -1) if is_vector else grad_x
        inverse = aten.linalg_pinv(A)
        of_a = pinv_backward(_summed(grad_x @ B.mH, inverse.shape), A, inverse)
        of_b = _summed(inverse.mH @ grad_x, B.shape)
    if grad_r is not None and grad_r.numel():
        X = aten.unsqueeze(X, -1) if is_vector else X
        rest = 2 * aten.unsqueeze(grad_r, -2) * (A @ X - B)
        of_a = add_gradients(of_a, _summed(rest @ X.mH, A.shape))
        of_b = add_gradients(of_b, -_summed(rest, B.shape))
    return of_a, (aten.squeeze(of_b, -1) if is_vector and of_b is not None else of_b)


def lstsq_forward(
    A_t: Tensor, b_t: Tensor, A: Tensor, b: Tensor, X: Tensor, residuals: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the tangents of the solution, and of the squares of residuals."""
    B, is_vector = _as_columns(A, b)
    B_t = aten.unsqueeze(b_t, -1) if is_vector else b_t
    inverse = aten.linalg_pinv(A)
    X_t = inverse @ B_t + pinv_forward(A_t, A, inverse) @ B
    if residuals.numel():
        X = aten.unsqueeze(X, -1) if is_vector else X
        rest = A @ X - B
        change = (rest.conj() * (A_t @ X - B_t)).sum(-2)
        residuals_t = 2 * (aten.real(change) if change.is_complex() else change)
    else:
        residuals_t = aten.zeros_like(residuals)
    return (aten.squeeze(X_t, -1) if is_vector else X_t), residuals_t


# Exponentials


def matrix_exp_backward(A: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient of `linalg_matrix_exp`."""
    return matrix_exp_differential(A, grad, True)


def matrix_exp_differential(A: Tensor, change: Tensor, adjoint: bool) -> Tensor:
    """Return how exp(A) changes with A, or the adjoint of that: the corner of exp([[A, change], [0, A]])."""
    A = A.mH if adjoint else A
    size = A.shape[-1]
    above = aten.cat([A, change.to(A.dtype)], -1)
    below = aten.cat([aten.zeros_like(A), A], -1)
    return aten.narrow(aten.narrow(aten.linalg_matrix_exp(aten.cat([above, below], -2)), -2, 0, size), -1, size, size)
