"""Gradients and tangents of square roots of Hermitian matrices, and of polar decompositions.

Both solve R X + X R = C for a Hermitian R: X = V ((V^H C V) / (r[i] + r[j])) V^H, with its eigenvalues r and
eigenvectors V. Second derivatives need eigenvalues that differ.
"""

from __future__ import annotations

from typing import Any

import opwright

Tensor = Any
aten = opwright.ops.aten


def _eigen(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues, where negative ones count as 0, and the eigenvectors of the lower triangle."""
    values, vectors = aten._linalg_eigh(matrix)
    return aten.clamp_min(values, 0), vectors


def _solved(roots: Tensor, vectors: Tensor, right: Tensor) -> Tensor:
    """Return X with R X + X R = `right`, from the eigenvalues and eigenvectors of R."""
    sums = aten.unsqueeze(roots, -1) + aten.unsqueeze(roots, -2)
    return vectors @ ((vectors.mH @ right @ vectors) / sums) @ vectors.mH


def matrix_sqrth_differential(A: Tensor, change: Tensor) -> Tensor:
    """Return how the root of A changes with both triangles of A, which is its own adjoint."""
    values, vectors = _eigen(A)
    return _solved(aten.sqrt(values), vectors, (change + change.mH) * 0.5)


def polar_backward(grad_u: Tensor | None, grad_h: Tensor | None, U: Tensor, H: Tensor) -> Tensor | None:
    """Return U (gH + P - P^H) + (1 - U U^H) gU H^-1, where H P + P H = U^H gU - gH H."""
    if grad_u is None and grad_h is None:
        return None
    values, vectors = _eigen(H)
    right: Any = 0
    if grad_u is not None:
        right = U.mH @ grad_u
    if grad_h is not None:
        right = right - grad_h @ H
    turn = _solved(values, vectors, right)
    inner = turn - turn.mH
    found = U @ (inner if grad_h is None else grad_h + inner)
    if grad_u is not None and U.shape[-2] > U.shape[-1]:
        found = found + _outside(grad_u, U, values, vectors)
    return found


def polar_forward(A_t: Tensor, U: Tensor, H: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents U P + (1 - U U^H) A_t H^-1 and U^H A_t - P H, where H P + P H = U^H A_t - A_t^H U."""
    values, vectors = _eigen(H)
    along = U.mH @ A_t
    turn = _solved(values, vectors, along - along.mH)
    U_t, H_t = U @ turn, along - turn @ H
    if U.shape[-2] > U.shape[-1]:
        U_t = U_t + _outside(A_t, U, values, vectors)
    return U_t, (H_t + H_t.mH) * 0.5


def _outside(change: Tensor, U: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """Return (1 - U U^H) change H^-1."""
    scaled = ((change @ vectors) / aten.unsqueeze(values, -2)) @ vectors.mH
    return scaled - U @ (U.mH @ scaled)
