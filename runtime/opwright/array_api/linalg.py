"""The extension `linalg` of the standard: linear algebra on stacks of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import opwright
from opwright.array_api.products import matmul, matrix_transpose, tensordot, vecdot
from opwright.array_api.promotion import promoted
from opwright.array_api.statistics import sum as _sum
from opwright.methods.functional import broadcast_tensors
from opwright_core.arrays.dtypes import DType
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


class Eig(NamedTuple):
    """Results of `eig`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class Eigh(NamedTuple):
    """Results of `eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QR(NamedTuple):
    """Results of `qr`."""

    Q: Tensor
    R: Tensor


class Slogdet(NamedTuple):
    """Results of `slogdet`."""

    sign: Tensor
    logabsdet: Tensor


class SVD(NamedTuple):
    """Results of `svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the triangular factors of positive-definite matrices, lower ones unless `upper`."""
    return opwright.linalg_cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the cross products of vectors of three elements along `axis`. Raises ValueError for other sizes."""
    first, second = promoted(x1, x2)
    if first.size(axis) != 3 or second.size(axis) != 3:
        raise ValueError(f"cross: axis {axis} must have size 3, but has {first.size(axis)} and {second.size(axis)}")
    return opwright.linalg_cross(*broadcast_tensors(first, second), dim=axis)


def det(x: Tensor, /) -> Tensor:
    """Return the determinants."""
    return opwright.linalg_det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return the diagonals of matrices, views; those above the main one for a positive `offset`."""
    return opwright.diagonal(x, offset, -2, -1)


def eig(x: Tensor, /) -> Eig:
    """Return the eigenvalues of square matrices and their eigenvectors as columns, complex for real matrices, too."""
    return Eig(*opwright.linalg_eig(x))


def eigh(x: Tensor, /) -> Eigh:
    """Return the eigenvalues of Hermitian matrices in order, and their eigenvectors as columns."""
    return Eigh(*opwright.linalg_eigh(x))


def eigvals(x: Tensor, /) -> Tensor:
    """Return the eigenvalues of square matrices, complex for real ones, too."""
    return opwright.linalg_eigvals(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """Return the eigenvalues of Hermitian matrices in order."""
    return opwright.linalg_eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """Return the inverses."""
    return opwright.linalg_inv(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Tensor:
    """Return the norms of matrices: of Frobenius, the nuclear one, or that of an order."""
    return opwright.linalg_matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Return the products of `n` times the same matrix, of its inverse for a negative `n`."""
    return opwright.linalg_matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return how many singular values are above `rtol` times the largest one."""
    return opwright.linalg_matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of each element of one vector with each of another."""
    return opwright.outer(*promoted(x1, x2))


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return the pseudo-inverses; singular values below `rtol` times the largest one count as zero."""
    return opwright.linalg_pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QR:
    """Return the factors Q, whose columns are orthonormal, and R, which is upper triangular."""
    return QR(*opwright.linalg_qr(x, mode))


def slogdet(x: Tensor, /) -> Slogdet:
    """Return the signs of determinants and the logarithms of their absolute values."""
    return Slogdet(*opwright.linalg_slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the solutions of `x1 @ solution = x2`: of one vector where `x2` has one dimension, else of matrices."""
    left, right = promoted(x1, x2)
    if right.ndim == 1:
        return opwright.linalg_solve(left, opwright.unsqueeze(right, -1))[..., 0]
    if right.ndim == left.ndim - 1:  # which PyTorch may take for a stack of vectors
        right = opwright.unsqueeze(right, 0)
    return opwright.linalg_solve(left, right)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVD:
    """Return the singular value decompositions."""
    return SVD(*opwright.linalg_svd(x, full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """Return the singular values, the largest first."""
    return opwright.linalg_svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Return the sums of diagonals, integers as 64-bit ones of their sign."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: Any = 2
) -> Tensor:
    """Return the norm of order `ord` over `axis`, over all axes where that is None."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if axes:
        return opwright.linalg_vector_norm(x, ord, axes, keepdims)
    return opwright.linalg_vector_norm(opwright.unsqueeze(x, -1), ord, (-1,))
