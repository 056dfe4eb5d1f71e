"""Linear algebra that is made of decompositions. It sees Tensors of any device."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import opwright
from opwright.levels.inside import stands_for_samples
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import COMPLEX, REDUCED, as_dtype, bool_, float32, float64
from opwright_core.arrays.sizes import guard_or_false, holds
from opwright_core.errors import DispatchError
from opwright_core.keys import TANGENT
from opwright_kernels.rules.matrices import check_matrices, check_square

Operand = Any  # a Tensor


def _adjoint(operand: Operand) -> Operand:
    return opwright.ops.aten.conj(opwright.ops.aten.transpose(operand, -2, -1))


# Inverses and systems of equations


def linalg_inv(A: Operand) -> Operand:
    """Return the inverse of square matrices. Raises LinAlgError where one has none."""
    aten = opwright.ops.aten
    inverse, info = aten.linalg_inv_ex(A)
    aten._linalg_check_errors(info, "linalg.inv", is_matrix=len(A.shape) == 2)
    return inverse


def linalg_solve_ex(A: Operand, B: Operand, left: bool, check_errors: bool) -> tuple[Operand, Operand]:
    """Return X of A @ X = B, or of X @ A = B, and which pivot was zero."""
    found = opwright.ops.aten._linalg_solve_ex(A, B, left=left, check_errors=check_errors)
    return found[0], found[3]


def linalg_solve(A: Operand, B: Operand, left: bool) -> Operand:
    """Return X of A @ X = B, or of X @ A = B. Raises LinAlgError where A is singular."""
    aten = opwright.ops.aten
    result, info = aten.linalg_solve_ex(A, B, left=left)
    aten._linalg_check_errors(info, "torch.linalg.solve", is_matrix=len(A.shape) == 2)
    return result


def linalg_tensorinv(self: Operand, ind: int) -> Operand:
    """Return the inverse as tensors of a tensor whose first `ind` dimensions have as many elements as the rest."""
    aten = opwright.ops.aten
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, rest = list(self.shape[:ind]), list(self.shape[ind:])
    rows, columns = prod(first), prod(rest)
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    inverse, info = aten.linalg_inv_ex(aten.reshape(self, [columns, rows]))
    aten._linalg_check_errors(info, "inv", is_matrix=True)
    return aten.reshape(inverse, [*rest, *first])


def linalg_tensorsolve(self: Operand, other: Operand, dims: Sequence[int] | None) -> Operand:
    """Return X with tensordot(self, X) = other, over all dimensions of X; `dims` of self are moved to its end first."""
    aten = opwright.ops.aten
    if dims is not None:
        self = aten.movedim(self, list(dims), list(range(len(self.shape) - len(dims), len(self.shape))))
    shape = list(self.shape[len(other.shape) :])
    count = prod(shape)
    if not holds(count == prod(other.shape)):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {count} != {prod(other.shape)}"
        )
    result = aten.linalg_solve(aten.reshape(self, [count, count]), aten.reshape(other, [count]))
    return aten.reshape(result, shape)


# Determinants and factors


def linalg_slogdet(A: Operand) -> tuple[Operand, Operand]:
    """Return the sign and the logarithm of the absolute value of the determinants."""
    found = opwright.ops.aten._linalg_slogdet(A)
    return found[0], found[1]


def logdet(self: Operand) -> Operand:
    """Return the logarithm of the determinants: NaN where they are negative."""
    aten = opwright.ops.aten
    sign, size = aten.linalg_slogdet(self)
    if as_dtype(self.dtype) in COMPLEX:
        return aten.add(aten.log(sign), size)
    return aten.where(aten.eq(sign, -1), float("nan"), size)


def linalg_lu_factor(A: Operand, pivot: bool) -> tuple[Operand, Operand]:
    """Return LU and pivots. Raises LinAlgError where U has a zero on its diagonal."""
    aten = opwright.ops.aten
    factors, pivots, info = aten.linalg_lu_factor_ex(A, pivot=pivot)
    aten._linalg_check_errors(info, "torch.linalg.lu_factor", is_matrix=len(A.shape) == 2)
    return factors, pivots


def linalg_ldl_factor(self: Operand, hermitian: bool) -> tuple[Operand, Operand]:
    """Return LDL factors and pivots. Raises LinAlgError where D has a zero block."""
    aten = opwright.ops.aten
    factors, pivots, info = aten.linalg_ldl_factor_ex(self, hermitian=hermitian)
    aten._linalg_check_errors(info, "torch.linalg.ldl_factor", is_matrix=len(self.shape) == 2)
    return factors, pivots


def linalg_cholesky(self: Operand, upper: bool) -> Operand:
    """Return L with A = L @ L.mH, or U with A = U.mH @ U. Raises LinAlgError for what is not positive-definite."""
    aten = opwright.ops.aten
    factor, info = aten.linalg_cholesky_ex(self, upper=upper)
    aten._linalg_check_errors(info, "linalg.cholesky", is_matrix=len(self.shape) == 2)
    return factor


def cholesky(self: Operand, upper: bool) -> Operand:
    """Call `linalg_cholesky` by its older name."""
    aten = opwright.ops.aten
    check_square("cholesky", self)
    if layouts.is_empty(self.shape):
        return aten.clone(self, memory_format=opwright.contiguous_format)
    factor, info = aten.linalg_cholesky_ex(self, upper=upper)
    aten._linalg_check_errors(info, "cholesky", is_matrix=len(self.shape) == 2)
    return factor


def svd(self: Operand, some: bool, compute_uv: bool) -> tuple[Operand, Operand, Operand]:
    """Return U, S and V with A = U @ diag(S) @ V.mH; without `compute_uv`, U and V are zeros."""
    aten = opwright.ops.aten
    check_matrices("linalg.svd", self)
    if compute_uv:
        u, s, vh = aten._linalg_svd(self, not some, True)
        return u, s, _adjoint(vh)
    s = aten.linalg_svdvals(self)
    rows, columns = self.shape[-2:]
    batch = list(self.shape[:-2])
    u, vh = (aten.new_zeros(self, [*batch, size, size]) for size in (rows, columns))
    return u, s, aten.transpose(vh, -2, -1)


def linalg_vander(x: Operand, N: int | None) -> Operand:
    """Return the powers of the elements of vectors from 0 to N - 1, in a new last dimension."""
    aten = opwright.ops.aten
    dtype = as_dtype(x.dtype)
    if dtype is bool_ or dtype in REDUCED:
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {dtype}")
    count = ([*x.shape] or [1])[-1] if N is None else N
    if guard_or_false(count <= 1):
        raise RuntimeError("N must be greater than 1.")
    x = x if x.shape else aten.reshape(x, [1])
    base = aten.expand(aten.unsqueeze(x, -1), [*x.shape, count - 1])
    powers = aten.cumprod(base, -1)
    ones = aten.ones([*x.shape, 1], dtype=powers.dtype, device=x.device)
    return aten.cat([ones, powers], -1)


# Values alone: the vectors are computed as well where a gradient or a tangent needs them


def _is_recorded(operand: Operand) -> bool:
    is_known = not stands_for_samples(operand)  # else what records it is the level's business
    return not is_known or bool(operand.keys & TANGENT) or (opwright.is_grad_enabled() and operand.requires_grad)


def linalg_svdvals(A: Operand, driver: str | None) -> Operand:
    """Return the singular values, in descending order."""
    return opwright.ops.aten._linalg_svd(A, False, _is_recorded(A), driver=driver)[1]


def linalg_eigvalsh(self: Operand, UPLO: str) -> Operand:
    """Return the eigenvalues, in ascending order, of Hermitian matrices of which one triangle is read."""
    return opwright.ops.aten._linalg_eigh(self, UPLO, _is_recorded(self))[0]


def linalg_eigvals(self: Operand) -> Operand:
    """Return the eigenvalues, in no order."""
    aten = opwright.ops.aten
    return aten.linalg_eig(self)[0] if _is_recorded(self) else aten._linalg_eigvals(self)


# Ranks and pseudo-inverses

Tolerance = Any  # a tensor, a number, or None


def pseudo_inverse(self: Operand, atol: Tolerance, rtol: Tolerance, hermitian: bool) -> Operand:
    """Return the Moore-Penrose inverse: singular values up to max(atol, rtol * the largest one) count as zero.

    rtol is by default, where atol is not above zero, eps times the larger size. `hermitian`: the matrices are, and
    eigenvalues are enough.
    """
    aten = opwright.ops.aten
    dtype = as_dtype(self.dtype)
    if len(self.shape) < 2 or (dtype not in (float32, float64) and dtype not in COMPLEX):
        raise DispatchError(
            f"linalg.pinv({dtype}{list(self.shape)}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    if layouts.is_empty(self.shape):
        return aten.new_empty(self, [*self.shape[:-2], self.shape[-1], self.shape[-2]])
    if hermitian:
        check_square("linalg.pinv", self)
        signed, vectors = aten.linalg_eigh(self)
        values = aten.abs(signed)
    else:
        left, values, right = aten.linalg_svd(self, False)
        signed = values
    largest = aten.amax(values, [-1], True)
    bound = _bound(self, largest, atol, rtol)
    inverted = aten.where(aten.gt(values, bound), aten.reciprocal(signed), aten.zeros_like(values))
    inverted = aten.to(aten.unsqueeze(inverted, -2), dtype)
    if hermitian:
        return aten.matmul(aten.mul(vectors, inverted), _adjoint(vectors))
    return aten.matmul(aten.mul(_adjoint(right), inverted), _adjoint(left))


def linalg_pinv(self: Operand, atol: float | None, rtol: float | None, hermitian: bool) -> Operand:
    """Call `pseudo_inverse` with tolerances as numbers: through the overload that has a derivative."""
    aten = opwright.ops.aten
    bounds = [None if each is None else aten.new_full(self, [], each, dtype=float64) for each in (atol, rtol)]
    return aten.linalg_pinv(self, atol=bounds[0], rtol=bounds[1], hermitian=hermitian)


def linalg_matrix_rank(self: Operand, atol: Tolerance, rtol: Tolerance, hermitian: bool) -> Operand:
    """Count singular values (absolute eigenvalues where `hermitian`) above max(atol, rtol * the largest one)."""
    aten = opwright.ops.aten
    check_matrices("torch.linalg.matrix_rank", self)
    if hermitian:
        check_square("linalg.matrix_rank", self)
    batch = list(self.shape[:-2])
    if layouts.is_empty(self.shape):
        return aten.new_zeros(self, batch, dtype=opwright.int64)
    values = aten.abs(aten.linalg_eigvalsh(self)) if hermitian else aten.linalg_svdvals(self)
    bound = _bound(self, aten.amax(values, [-1], True), atol, rtol)
    return aten.sum(aten.gt(values, bound), [-1])


def _bound(self: Operand, largest: Operand, atol: Tolerance, rtol: Tolerance) -> Operand:
    """Return max(atol, rtol * largest), one for each matrix, in a last dimension of 1."""
    aten = opwright.ops.aten
    default = float(opwright.finfo(as_dtype(largest.dtype)).eps) * _larger(*self.shape[-2:])
    for name, tolerance in (("atol", atol), ("rtol", rtol)):
        if _is_array(tolerance) and as_dtype(tolerance.dtype) in COMPLEX:
            raise RuntimeError(f"linalg: {name} tensor of complex type is not supported")
    if rtol is None:
        if _is_array(atol):
            rtol = aten.where(aten.gt(atol, 0), 0.0, aten.full_like(atol, default))
        else:
            rtol = 0.0 if atol is not None and atol > 0 else default
    relative = aten.mul(largest, aten.unsqueeze(rtol, -1) if _is_array(rtol) else rtol)
    if atol is None:
        return relative
    if _is_array(atol):
        return aten.maximum(aten.unsqueeze(atol, -1), relative)
    return aten.clamp(relative, min=atol)


def _is_array(tolerance: Tolerance) -> bool:
    return hasattr(tolerance, "dtype")


def _larger(first: int, second: int) -> int:
    return second if first < second else first
