"""Singular values and principal components of matrices of low rank, found by random directions (Halko and others, 2009,
algorithms 4.4 and 5.1). They are PyTorch's, written over the operators."""

from __future__ import annotations

from typing import Any

from opwright.namespaces import aten
from opwright_core.arrays.dtypes import INEXACT, as_dtype, get_default_dtype

__all__ = ["pca_lowrank", "svd_lowrank"]

Operand = Any  # a Tensor or a plain array


def svd_lowrank(
    A: Operand, q: int | None = 6, niter: int | None = 2, M: Operand | None = None
) -> tuple[Operand, Operand, Operand]:
    """Return U, S and V with U @ diag(S) @ V.mH close to A, or to A - M: `q` columns, a little more than its rank.

    Directions are random (`manual_seed`); `niter` rounds turn them towards the largest singular values.
    """
    rows, columns = A.shape[-2:]
    if M is not None:
        A = aten["sub"](A, aten["broadcast_to"](M, A.shape))
    is_wide = rows < columns
    A = _adjoint(A) if is_wide else A
    basis = _basis(A, 6 if q is None else q, 2 if niter is None else niter)
    u, s, vh = aten["linalg_svd"](aten["matmul"](_adjoint(basis), A), False)
    left, right = aten["matmul"](basis, u), _adjoint(vh)
    return (right, s, left) if is_wide else (left, s, right)


def pca_lowrank(
    A: Operand, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Operand, Operand, Operand]:
    """Return U, S and V of the rows of A, less their mean where they are to be centred: the columns of V are the first
    `q` principal directions (6 at most by default).

    Raises ValueError for a `q` that is negative or above the smaller size, and for a negative `niter`.
    """
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(aten["sub"](A, aten["mean"](A, [-2], True)) if center else A, q, niter)


def _basis(A: Operand, q: int, rounds: int) -> Operand:
    """Return orthonormal columns that span most of what A maps to."""
    if as_dtype(A.dtype) not in INEXACT:
        A = aten["to"](A, get_default_dtype())
    directions = aten["randn"]([A.shape[-1], q], dtype=A.dtype, device=getattr(A, "device", None))
    found = aten["linalg_qr"](aten["matmul"](A, directions))[0]
    for _ in range(rounds):
        found = aten["linalg_qr"](aten["matmul"](_adjoint(A), found))[0]
        found = aten["linalg_qr"](aten["matmul"](A, found))[0]
    return found


def _adjoint(matrices: Operand) -> Operand:
    return aten["conj"](aten["transpose"](matrices, -2, -1))
