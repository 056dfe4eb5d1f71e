"""Backward functions of products of matrices, systems of equations and decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.levels.inside import stands_for_samples
from opwright_core.arrays.dtypes import COMPLEX, as_dtype
from opwright_core.arrays.sizes import guard_or_false
from opwright_core.core import compiled
from opwright_core.keys import META
from opwright_kernels.gradients.pointwise import scaled
from opwright_kernels.gradients.reductions import add_gradients, product_of_others

Tensor = Any
aten = opwright.ops.aten


@compiled
def first_factor_gradient(grad: Tensor, other: Tensor, strides: Sequence[int], alpha: Any = 1) -> Tensor:
    """Return alpha * grad @ other.mH, the gradient of a product's first factor, which has the strides: by columns where
    it lies so, as the gradient of what it was transposed from wants it."""
    if _are_of_columns(strides, grad.shape[0]):
        return scaled(aten.mm(other.conj(), grad.mT).mT, alpha)
    return scaled(aten.mm(grad, other.mH), alpha)


@compiled
def second_factor_gradient(grad: Tensor, other: Tensor, strides: Sequence[int], alpha: Any = 1) -> Tensor:
    """Return alpha * other.mH @ grad, the gradient of a product's second factor, likewise."""
    if _are_of_columns(strides, other.shape[1]):
        return scaled(aten.mm(grad.mT, other.conj()).mT, alpha)
    return scaled(aten.mm(other.mH, grad), alpha)


@compiled
def first_batch_gradient(grad: Tensor, other: Tensor, alpha: Any = 1) -> Tensor:
    """Return alpha * grad @ other.mH, the gradient of the first factors of a batch of products."""
    return scaled(aten.bmm(grad, other.mH), alpha)


@compiled
def second_batch_gradient(grad: Tensor, other: Tensor, alpha: Any = 1) -> Tensor:
    """Return alpha * other.mH @ grad, the gradient of the second factors."""
    return scaled(aten.bmm(other.mH, grad), alpha)


def _are_of_columns(strides: Sequence[int], rows: int) -> bool:
    return guard_or_false(strides[0] == 1) and guard_or_false(strides[1] == rows)


def trace_backward(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the gradient on the diagonal."""
    return aten.where(aten.eye(shape[0], shape[1], dtype=opwright.bool, device=grad.device), grad, 0)


def _adjoint_inverse_times(matrix: Tensor, value: Tensor) -> Tensor:
    """Return matrix^-H @ value; infinities where the matrix has no inverse."""
    return aten._linalg_solve_ex(matrix.mH, value)[0]


def _identity_like(matrix: Tensor) -> Tensor:
    return aten.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device).expand(matrix.shape)


def det_backward(grad: Tensor, A: Tensor, det: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """Return grad * conj(det) * A^-H. Where A has no inverse, it is that of a matrix near to it, or, if a further
    gradient may be asked for, made of singular values: for each the product of all others."""
    if not opwright.is_grad_enabled():
        factors = LU
        if stands_for_samples(A) or A.keys & META or bool((det == 0).any()):
            factors, det = _without_zeros(LU, pivots)
        scale = (grad * aten.conj(det)).unsqueeze(-1).unsqueeze(-1)
        is_transposed = A.is_contiguous() and as_dtype(A.dtype) not in COMPLEX  # the factors are those of A.mT
        return aten.linalg_lu_solve(factors, pivots, scale * _identity_like(A), adjoint=not is_transposed)
    if stands_for_samples(A):
        is_singular = (det == 0).unsqueeze(-1).unsqueeze(-1)
        near = A + opwright.finfo(A.dtype).eps * _identity_like(A)
        A = aten.where(is_singular, near, A)
        det = aten.where(det == 0, aten.linalg_det(near), det)
    elif not A.keys & META and bool((det == 0).any()):
        U, S, Vh = aten._linalg_svd(A)
        scale = grad * aten.conj(aten.linalg_det(U) * aten.linalg_det(Vh))
        return (U * (scale.unsqueeze(-1) * product_of_others(S, -1)).unsqueeze(-2)) @ Vh
    scale = (grad * aten.conj(det)).unsqueeze(-1).unsqueeze(-1)
    return _adjoint_inverse_times(A, scale * _identity_like(A))


def _without_zeros(LU: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor]:
    """Return the factors and the determinant of a matrix near to that of `LU`, with no zero on its diagonal."""
    diagonal = aten.diagonal(LU, 0, -2, -1)
    moved = aten.where(diagonal == 0, opwright.finfo(LU.dtype).eps, aten.zeros_like(diagonal))
    in_place = pivots == aten.arange(1, pivots.shape[-1] + 1, device=pivots.device)
    return LU + aten.diag_embed(moved), aten.prod(aten.where(in_place, diagonal + moved, -(diagonal + moved)), -1)


def slogdet_backward(grad_sign: Tensor | None, grad_logabsdet: Tensor | None, A: Tensor, sign: Tensor) -> Tensor | None:
    """Return the logarithm's gradient, and that of the angle of a complex sign, times A^-H."""
    scale = grad_logabsdet
    if grad_sign is not None and as_dtype(A.dtype) in COMPLEX:
        turn = -aten.imag(aten.conj(grad_sign) * sign)
        scale = aten.complex(aten.zeros_like(turn) if scale is None else scale, turn)
    if scale is None:
        return None
    return _adjoint_inverse_times(A, scale.unsqueeze(-1).unsqueeze(-1) * _identity_like(A))


def _half_triangle(matrix: Tensor) -> Tensor:
    """Return the lower triangle, with half of the diagonal."""
    return aten.tril(matrix) - 0.5 * aten.diag_embed(aten.diagonal(matrix, 0, -2, -1))


def cholesky_backward(grad: Tensor, L: Tensor, upper: bool) -> Tensor:
    """Return L^-H @ phi(L^H @ grad) @ L^-1, where phi makes the lower triangle Hermitian."""
    if upper:
        grad, L = grad.mH, L.mH
    inner = L.mH @ grad
    inner = (aten.tril(inner) + aten.tril(inner, -1).mH) * 0.5
    inner = aten.linalg_solve_triangular(L.mH, inner, upper=True, left=True)
    return aten.linalg_solve_triangular(L, inner, upper=False, left=False)


def cholesky_forward(tangent: Tensor, L: Tensor, upper: bool) -> Tensor:
    """Return L @ phi(L^-1 @ tangent @ L^-H)."""
    if upper:
        L = L.mH
    inner = aten.linalg_solve_triangular(L, tangent, upper=False, left=True)
    inner = aten.linalg_solve_triangular(L.mH, inner, upper=True, left=False)
    found = L @ _half_triangle(inner)
    return found.mH if upper else found


def is_vector(A: Tensor, X: Tensor) -> bool:
    """Whether the right side of a system is one vector (for each matrix), as torch.linalg.solve decides."""
    return X.ndim == 1 or (A.ndim - 1 == X.ndim and tuple(A.shape[:-1]) == tuple(X.shape))


def solve_backward(
    grad: Tensor, A: Tensor, X: Tensor, left: bool, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of a system's matrix and right side: that of the right side solves the adjoint system."""
    of_right = aten._linalg_solve_ex(A.mH, grad, left=left)[0]
    if not mask[0]:
        return None, of_right
    vector = is_vector(A, X)
    columns, solution = (each.unsqueeze(-1) if vector else each for each in (of_right, X))
    of_matrix = -columns @ solution.mH if left else -solution.mH @ columns
    return of_matrix, of_right if mask[1] else None


def solve_triangular_backward(
    grad: Tensor, A: Tensor, X: Tensor, upper: bool, left: bool, unitriangular: bool, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of a triangular matrix, which is triangular too, and of the right side."""
    of_right = aten.linalg_solve_triangular(A.mH, grad, upper=not upper, left=left, unitriangular=unitriangular)
    if not mask[0]:
        return None, of_right
    of_matrix = -of_right @ X.mH if left else -X.mH @ of_right
    edge = int(unitriangular)
    of_matrix = aten.triu(of_matrix, edge) if upper else aten.tril(of_matrix, -edge)
    return of_matrix, of_right if mask[1] else None


def older_triangular_solve_backward(
    grad_solution: Tensor | None,
    grad_clone: Tensor | None,
    A: Tensor,
    X: Tensor,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of right side and matrix of `triangular_solve`, which gives out a copy of the matrix."""
    if grad_solution is None:
        return None, grad_clone
    matrix, is_upper = (A.mT, not upper) if transpose else (A, upper)
    swapped = [mask[1], mask[0]]
    of_matrix, of_right = solve_triangular_backward(grad_solution, matrix, X, is_upper, True, unitriangular, swapped)
    if transpose and of_matrix is not None:
        of_matrix = of_matrix.mT
    return of_right, add_gradients(of_matrix, grad_clone) if mask[1] else None


def gaps(eigenvalues: Tensor) -> Tensor:
    """Return how far eigenvalue j is above eigenvalue i; 1 on the diagonal."""
    found = eigenvalues.unsqueeze(-2) - eigenvalues.unsqueeze(-1)
    return found + aten.eye(found.shape[-1], dtype=found.dtype, device=found.device)


def eigenvectors_forward(tangent: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """Return the tangent of the eigenvectors of a hermitian matrix; along themselves they do not change."""
    turned = vectors.mH @ tangent @ vectors / gaps(values)
    return vectors @ (turned.tril(-1) + turned.triu(1))


def eigh_backward(
    grad_values: Tensor | None, grad_vectors: Tensor | None, values: Tensor, vectors: Tensor
) -> Tensor | None:
    """Return V (diag(grad_values) + skew(V^H grad_vectors) / gaps) V^H."""
    if not values.numel():  # there are no eigenvectors to multiply by, with compute_v=False not even of that shape
        return aten.new_zeros(vectors, [*values.shape, values.shape[-1]])
    if grad_vectors is None:
        if grad_values is None:
            return None
        if not vectors.numel():
            raise RuntimeError("_linalg_eigh has no gradient with compute_v=False: it does not compute what that needs")
        inner = aten.diag_embed(grad_values)
        return vectors @ (aten.to(inner, vectors.dtype) @ vectors.mH)
    inner = vectors.mH @ grad_vectors
    inner = (inner - inner.mH) * 0.5 / gaps(values)
    inner = aten.tril(inner, -1) + aten.triu(inner, 1)
    if grad_values is not None:
        inner = inner + aten.diag_embed(grad_values)
    return vectors @ (inner @ vectors.mH)


def qr_backward(grad_q: Tensor | None, grad_r: Tensor | None, Q: Tensor, R: Tensor, mode: str) -> Tensor | None:
    """Return the gradient of the reduced factors; what a wide matrix has beyond a square one follows from Q."""
    if mode == "r":
        raise RuntimeError("linalg_qr has no gradient in mode 'r': it does not compute Q, which that needs")
    rows, columns = R.shape[-2:]
    if rows > columns:
        raise RuntimeError("linalg_qr has no gradient in mode 'complete' for a matrix that is higher than wide")
    if rows == columns:
        return _square_qr_backward(grad_q, grad_r, Q, R)
    if grad_r is None:
        of_square = _square_qr_backward(grad_q, None, Q, aten.narrow(R, -1, 0, rows))
        rest = [*Q.shape[:-1], columns - rows]
        return None if of_square is None else aten.cat([of_square, aten.new_zeros(of_square, rest)], -1)
    beyond, grad_beyond = (aten.narrow(each, -1, rows, columns - rows) for each in (R, grad_r))
    of_q = (Q @ beyond) @ grad_beyond.mH
    of_q = of_q if grad_q is None else grad_q + of_q
    square, grad_square = (aten.narrow(each, -1, 0, rows) for each in (R, grad_r))
    return aten.cat([_square_qr_backward(of_q, grad_square, Q, square), Q @ grad_beyond], -1)


def _square_qr_backward(grad_q: Tensor | None, grad_r: Tensor | None, Q: Tensor, R: Tensor) -> Tensor | None:
    """Return (gQ + Q copyltu(R gR^H - gQ^H Q)) R^-H."""
    if grad_q is None and grad_r is None:
        return None
    inner: Any = 0 if grad_r is None else R @ grad_r.mH
    if grad_q is not None:
        inner = inner - grad_q.mH @ Q
    lower = aten.tril(inner, -1)
    diagonal = aten.diagonal(inner, 0, -2, -1)
    diagonal = aten.real(diagonal) if as_dtype(diagonal.dtype) in COMPLEX else diagonal
    found = Q @ (lower + lower.mH + aten.diag_embed(diagonal))
    if grad_q is not None:
        found = found + grad_q
    return aten.linalg_solve_triangular(R.mH, found, upper=False, left=False)
