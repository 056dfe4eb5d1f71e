"""Decompositions of batches of matrices, and what is computed from them. The rules have checked the shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from opwright.errors import LinAlgError
from opwright_core.core import compiled
from opwright_core.locks.long_calls import cubic
from opwright_kernels.linalg import elimination, lapack

Array = Any


def check_factorizations(info: Array, api_name: str, is_matrix: bool) -> None:
    """Raise LinAlgError for the first matrix whose `info` is not 0. `is_matrix`: there is no batch."""
    failed = info.reshape(-1).nonzero()[0]
    if not len(failed):
        return
    first = int(failed[0])
    order = int(info.reshape(-1)[first])
    batch = "" if is_matrix else f"(Batch element {first}): "
    if "inv" in api_name:  # cholesky_inverse too
        text = (
            f"The diagonal element {order} is zero, the inversion could not be completed because the input matrix is "
            "singular."
        )
    elif "cholesky" in api_name:
        text = (
            "The factorization could not be completed because the input is not positive-definite (the leading minor "
            f"of order {order} is not positive-definite)."
        )
    elif "ldl" in api_name:
        text = f"The factorization could not be completed: D[{order},{order}] is zero, the input matrix is singular."
    elif "solve" in api_name:
        text = "The solver failed because the input matrix is singular."
    else:
        text = f"U[{order},{order}] is zero and using it on lu_solve would result in a division by zero."
    raise LinAlgError(f"{api_name}: {batch}{text}")


def check_no_factorizations(info: Array, api_name: str, is_matrix: bool) -> None:
    """Accept any call: without data, nothing is known to have failed."""


def _attempt(xp: ModuleType, function: Callable[..., Any], *args: Any) -> Any:
    """Return the function's result, None where a matrix is singular: NumPy raises, CuPy gives what is not finite."""
    try:
        result = lapack.by_few_threads(function, *args)
    except np.linalg.LinAlgError:
        return None
    return result if xp is np or bool(xp.isfinite(result).all()) else None


def _converged(operator: str, function: Callable[..., Any], *args: Any) -> Any:
    try:
        return lapack.by_few_threads(function, *args)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(
            f"{operator}: The algorithm failed to converge because the input matrix is ill-conditioned or contained "
            f"non-finite values ({error})"
        ) from None


# Inverses and systems


@compiled
@cubic
def inverse_and_info(xp: ModuleType, A: Array, check_errors: bool) -> tuple[Array, Array]:
    """Return the inverses, and 0 or the position of the first zero on the diagonal of U (`linalg_inv_ex`)."""
    if xp is np and lapack.serves(A):
        factors, pivots = lapack.factor(A)
        info = elimination.first_zero(xp, factors)
        if not info.any():
            return lapack.inverse(factors, pivots), info
    transposed = _attempt(xp, xp.linalg.inv, A.swapaxes(-1, -2))  # so that the result has the strides of LAPACK's
    if transposed is not None:
        return transposed.swapaxes(-1, -2), xp.zeros(A.shape[:-2], "int32")
    factors, _, order = elimination.factor(xp, A)
    info = elimination.first_zero(xp, factors)
    if check_errors:
        check_factorizations(info, "linalg.inv_ex", A.ndim == 2)
    return elimination.solve_factored(xp, factors, order, xp.eye(A.shape[-1], dtype=A.dtype)), info


@compiled
@cubic
def solution_and_factors(
    xp: ModuleType, A: Array, B: Array, left: bool, check_errors: bool
) -> tuple[Array, Array, Array, Array]:
    """Return X with A @ X = B, or X @ A = B; LU, pivots and info of A (`_linalg_solve_ex`)."""
    factors, pivots, order = _factored(xp, A)
    info = elimination.first_zero(xp, factors)
    if check_errors:
        check_factorizations(info, "torch.linalg.solve_ex", A.ndim == 2)
    is_vector = B.ndim == 1 or B.shape == A.shape[:-1]
    columns = B[..., None] if is_vector else B
    if left:
        result = _solved(xp, factors, pivots, columns, False, order)
    else:
        result = _solved(xp, factors, pivots, columns.swapaxes(-1, -2), True, order).swapaxes(-1, -2)
    return (result[..., 0] if is_vector else result), factors, pivots, info


def _factored(xp: ModuleType, A: Array) -> tuple[Array, Array, Array | None]:
    """Return LU and pivots, by LAPACK where that can, and the order of the rows where elimination found it."""
    if xp is np and lapack.serves(A):
        return (*lapack.factor(A), None)
    return elimination.factor(xp, A)


def _solved(
    xp: ModuleType, factors: Array, pivots: Array, B: Array, transposed: bool, order: Array | None = None
) -> Array:
    """Return X with A @ X = B, or A.T @ X = B, from the factors of A; the batches broadcast."""
    if xp is np and lapack.serves(factors) and lapack.serves(B):
        return lapack.solve(factors, pivots, B, transposed)
    order = row_order(xp, pivots, factors.shape[-1]) if order is None else order
    if not transposed:
        return elimination.solve_factored(xp, factors, order, B)
    # A.T is U.T @ L.T @ P
    turned = factors.swapaxes(-1, -2)
    rows = _triangle_solved(xp, turned, _triangle_solved(xp, turned, B, False, False), True, True)
    back = xp.broadcast_to(xp.argsort(order, axis=-1), rows.shape[:-1])
    return xp.take_along_axis(rows, back[..., None], axis=-2)


def _triangle_solved(xp: ModuleType, A: Array, B: Array, upper: bool, unit: bool) -> Array:
    if xp is np and lapack.serves(A) and lapack.serves(B):
        return lapack.solve_triangle(A, B, upper, unit)
    return elimination.solve_triangle(xp, A, B, upper, unit)


@compiled
@cubic
def solve_triangular(xp: ModuleType, A: Array, B: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    """Return X with A @ X = B, or X @ A = B, for one triangle of A (`linalg_solve_triangular`)."""
    if left:
        return _triangle_solved(xp, A, B, upper, unitriangular)
    turned = _triangle_solved(xp, A.swapaxes(-1, -2), B.swapaxes(-1, -2), not upper, unitriangular)
    return turned.swapaxes(-1, -2)


@cubic
def solve_transposed_triangular(
    xp: ModuleType, self: Array, A: Array, upper: bool, transpose: bool, unitriangular: bool
) -> tuple[Array, Array]:
    """Return the solution, and A as it was used (`triangular_solve`)."""
    matrices = A.swapaxes(-1, -2) if transpose else A
    solution = _triangle_solved(xp, matrices, self, upper is not transpose, unitriangular)
    return solution, xp.broadcast_to(A, (*solution.shape[:-2], *A.shape[-2:]))


@compiled
@cubic
def solve_with_lu(xp: ModuleType, LU: Array, pivots: Array, B: Array, left: bool, adjoint: bool) -> Array:
    """Return X with A @ X = B, or X @ A = B, from the factors of A, or of its adjoint (`linalg_lu_solve`).

    Raises RuntimeError for pivots that name no row.
    """
    check_pivots("linalg.lu_solve", pivots, LU.shape[-2])
    factors = LU.conj() if adjoint else LU
    if left:
        return _solved(xp, factors, pivots, B, adjoint)
    return _solved(xp, factors, pivots, B.swapaxes(-1, -2), not adjoint).swapaxes(-1, -2)


def check_pivots(operator: str, pivots: Array, rows: int) -> None:
    """Raise RuntimeError unless each pivot names a row, counted from 1: LAPACK writes wherever they say."""
    if pivots.size and not 1 <= int(pivots.min()) <= int(pivots.max()) <= rows:
        raise RuntimeError(
            f"{operator}: pivots must be between 1 and LU.size(-2) inclusive: they are what lu_factor returns"
        )


def row_order(xp: ModuleType, pivots: Array, rows: int) -> Array:
    """Return the rows in the order in which the swaps of `pivots` leave them."""
    order = xp.tile(xp.arange(rows), (*pivots.shape[:-1], 1))
    if xp is np and pivots.ndim == 1:
        found = list(range(rows))
        for position, other in enumerate(pivots.tolist()):
            found[position], found[other - 1] = found[other - 1], found[position]
        return np.array(found, order.dtype)
    for position in range(pivots.shape[-1]):
        other = pivots[..., position, None].astype("int64") - 1
        found = xp.take_along_axis(order, other, axis=-1)
        xp.put_along_axis(order, other, order[..., position, None].copy(), axis=-1)
        order[..., position, None] = found
    return order


@cubic
def solve_with_cholesky(xp: ModuleType, self: Array, input2: Array, upper: bool) -> Array:
    """Return X with A @ X = B, from a triangle L with A = L @ L.mH, or U with A = U.mH @ U (`cholesky_solve`)."""
    adjoint = input2.conj().swapaxes(-1, -2)
    lower, other = (adjoint, input2) if upper else (input2, adjoint)
    return _triangle_solved(xp, other, _triangle_solved(xp, lower, self, False, False), True, False)


@cubic
def inverse_of_cholesky(xp: ModuleType, self: Array, upper: bool) -> Array:
    """Return the inverse of A, from a triangle L with A = L @ L.mH, or U with A = U.mH @ U (`cholesky_inverse`)."""
    check_factorizations(elimination.first_zero(xp, self), "cholesky_inverse", self.ndim == 2)
    return solve_with_cholesky(xp, xp.eye(self.shape[-1], dtype=self.dtype), self, upper)


# Determinants


def _factors_of_determinant(xp: ModuleType, A: Array) -> tuple[Array, Array]:
    """Return LU and pivots of A, or of its transpose, which has the same determinant, where PyTorch factors that."""
    is_turned = A.dtype.kind == "f" and A.flags.c_contiguous
    return _factored(xp, A.swapaxes(-1, -2) if is_turned else A)[:2]


@compiled
@cubic
def determinant(xp: ModuleType, A: Array) -> tuple[Array, Array, Array]:
    """Return the determinants, LU and pivots (`_linalg_det`)."""
    factors, pivots = _factors_of_determinant(xp, A)
    with np.errstate(all="ignore"):
        product = xp.diagonal(factors, axis1=-2, axis2=-1).prod(axis=-1)
    return xp.where(elimination.is_odd(xp, pivots), -product, product), factors, pivots


@compiled
@cubic
def log_determinant(xp: ModuleType, A: Array) -> tuple[Array, Array, Array, Array]:
    """Return sign and logarithm of the absolute value of the determinants, LU and pivots (`_linalg_slogdet`)."""
    factors, pivots = _factors_of_determinant(xp, A)
    diagonal = xp.diagonal(factors, axis1=-2, axis2=-1)
    size = xp.abs(diagonal)
    signs = diagonal / xp.where(size == 0, 1, size) if A.dtype.kind == "c" else xp.sign(diagonal)
    sign = signs.prod(axis=-1)
    return xp.where(elimination.is_odd(xp, pivots), -sign, sign), xp.log(size).sum(axis=-1), factors, pivots


# Triangular factors


@compiled
@cubic
def lu_and_info(xp: ModuleType, A: Array, pivot: bool, check_errors: bool) -> tuple[Array, Array, Array]:
    """Return LU, pivots, and 0 or the position of the first zero on the diagonal of U (`linalg_lu_factor_ex`)."""
    factors, pivots, _ = _factored(xp, A)
    info = elimination.first_zero(xp, factors)
    if check_errors:
        check_factorizations(info, "torch.linalg.lu_factor_ex", A.ndim == 2)
    return factors, pivots, info


@cubic
def lu(xp: ModuleType, A: Array, pivot: bool) -> tuple[Array, Array, Array]:
    """Return P, L and U with A = P @ L @ U (`linalg_lu`)."""
    rows = A.shape[-2]
    factors, pivots, order = _factored(xp, A)
    order = row_order(xp, pivots, rows) if order is None else order
    return (_permutation(xp, order, A.dtype) if pivot else xp.zeros(0, A.dtype)), *_lower_and_upper(xp, factors)


def _permutation(xp: ModuleType, order: Array, dtype: Any) -> Array:
    return (xp.arange(order.shape[-1])[:, None] == order[..., None, :]).astype(dtype)


def _lower_and_upper(xp: ModuleType, factors: Array) -> tuple[Array, Array]:
    rows, columns = factors.shape[-2:]
    count = min(rows, columns)
    lower = xp.tril(factors[..., :count], -1) + xp.eye(rows, count, dtype=factors.dtype)
    return lower, xp.triu(factors[..., :count, :])


def lu_unpacked(
    xp: ModuleType, LU_data: Array, LU_pivots: Array, unpack_data: bool, unpack_pivots: bool
) -> tuple[Array, Array, Array]:
    """Return P, L and U from both in one matrix, and pivots; what is not asked for is empty (`lu_unpack`).

    Raises RuntimeError for pivots that name no row.
    """
    rows = LU_data.shape[-2]
    permutation = lower = upper = xp.zeros(0, LU_data.dtype)
    if unpack_pivots:
        pivots = xp.array(xp.broadcast_to(LU_pivots, (*LU_data.shape[:-2], LU_pivots.shape[-1])))
        check_pivots("lu_unpack", pivots, rows)
        permutation = _permutation(xp, row_order(xp, pivots, rows), LU_data.dtype)
    if unpack_data:
        lower, upper = _lower_and_upper(xp, LU_data)
    return permutation, lower, upper


@compiled
@cubic
def cholesky_and_info(xp: ModuleType, self: Array, upper: bool, check_errors: bool) -> tuple[Array, Array]:
    """Return L with A = L @ L.mH, or U with A = U.mH @ U, from that triangle of A (`linalg_cholesky_ex`); and 0, or the
    order of the first leading minor that is not positive-definite."""
    matrices = self.conj().swapaxes(-1, -2) if upper else self
    is_lapack = xp is np and lapack.serves(matrices)
    lower = lapack.factor_definite(matrices) if is_lapack else _attempt(xp, xp.linalg.cholesky, matrices)
    if lower is not None:
        info = xp.zeros(self.shape[:-2], "int32")
    else:
        lower, info = _factored_as_far_as_possible(xp, matrices)
        if check_errors:
            check_factorizations(info, "linalg.cholesky_ex", self.ndim == 2)
    return (lower.conj().swapaxes(-1, -2) if upper else lower), info


def _factored_as_far_as_possible(xp: ModuleType, A: Array) -> tuple[Array, Array]:
    """Factor column by column; one that is not positive-definite keeps its elements from there on, as in LAPACK."""
    result = xp.tril(A)
    info = xp.zeros(A.shape[:-2], "int32")
    for j in range(A.shape[-1]):
        row = result[..., j, :j]
        pivot = result[..., j, j].real - (row * row.conj()).real.sum(axis=-1)
        # NaN is not positive either.
        info = xp.where((info == 0) & ~(pivot > 0), j + 1, info).astype("int32")
        good = info == 0
        root = xp.sqrt(xp.where(pivot > 0, pivot, 1))
        rest = result[..., j + 1 :, j] - (result[..., j + 1 :, :j] @ row.conj()[..., None])[..., 0]
        result[..., j + 1 :, j] = xp.where(good[..., None], rest / root[..., None], result[..., j + 1 :, j])
        failed_here = xp.where(info == j + 1, pivot, result[..., j, j])
        result[..., j, j] = xp.where(good, root, failed_here)
    return result, info


@cubic
def qr(xp: ModuleType, A: Array, mode: str) -> tuple[Array, Array]:
    """Return Q with orthonormal columns and an upper triangle R with A = Q @ R; no Q in mode `r` (`linalg_qr`)."""
    if mode == "r":
        return xp.zeros(0, A.dtype), lapack.by_few_threads(xp.linalg.qr, A, mode="r")
    q, r = lapack.by_few_threads(xp.linalg.qr, A, mode=mode)
    return q, r


# Eigenvalues and singular values


@cubic
def eigh(xp: ModuleType, A: Array, UPLO: str, compute_v: bool) -> tuple[Array, Array]:
    """Return eigenvalues in ascending order, and eigenvectors as columns, of Hermitian matrices of which one triangle
    is read (`_linalg_eigh`)."""
    if not compute_v:
        return _converged("linalg.eigh", xp.linalg.eigvalsh, A, UPLO.upper()), xp.zeros(0, A.dtype)
    values, vectors = _converged("linalg.eigh", xp.linalg.eigh, A, UPLO.upper())
    return values, vectors


@cubic
def eig(xp: ModuleType, self: Array) -> tuple[Array, Array]:
    """Return eigenvalues, and eigenvectors as columns (`linalg_eig`). Raises RuntimeError for what is not finite."""
    _check_finite(xp, self, "torch.linalg.eig")
    values, vectors = _converged("linalg.eig", xp.linalg.eig, self)
    return _as_complex(xp, values), _as_complex(xp, vectors)


@cubic
def eigvals(xp: ModuleType, self: Array) -> Array:
    """Return eigenvalues (`linalg_eigvals`). Raises RuntimeError for what is not finite."""
    _check_finite(xp, self, "torch.linalg.eigvals")
    return _as_complex(xp, _converged("linalg.eig", xp.linalg.eigvals, self))


def _as_complex(xp: ModuleType, values: Array) -> Array:
    """Return an array as complex numbers: NumPy's eigenvalues are real where all of them are."""
    return values.astype(xp.result_type(values, xp.complex64), copy=False)


def _check_finite(xp: ModuleType, self: Array, operator: str) -> None:
    if not bool(xp.isfinite(self).all()):
        raise RuntimeError(f"{operator}: input tensor should not contain infs or NaNs.")


@cubic
def singular_value_decomposition(
    xp: ModuleType, A: Array, full_matrices: bool, compute_uv: bool, driver: str | None
) -> tuple[Array, Array, Array]:
    """Return U, S and Vh with A = U @ diag(S) @ Vh; all columns of U and rows of Vh if `full_matrices` (`_linalg_svd`).

    Raises LinAlgError for what is not finite. Infinities have singular values, NaN, but no vectors.
    """
    if not compute_uv:
        none = xp.zeros(0, A.dtype)
        return none, _converged("linalg.svd", partial(xp.linalg.svd, compute_uv=False), A), none
    if not bool(xp.isfinite(A).all()):  # LAPACK would search for vectors without end
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
        )
    u, s, vh = _converged("linalg.svd", xp.linalg.svd, A, full_matrices)
    return u, s, vh
