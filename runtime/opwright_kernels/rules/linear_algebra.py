"""Decompositions and systems of equations: batches of matrices in the last two dimensions."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Matrices, Vectors
from opwright_core.arrays.dtypes import (
    COMPLEX,
    DType,
    as_dtype,
    complex64,
    complex128,
    float32,
    float64,
    int32,
    to_real,
)
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import holds, smaller
from opwright_core.errors import DispatchError
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_kernels.rules.matrices import check_inexact, check_matrices, check_square

_decomposed = SpecCache()


def decomposed(
    operator: str, A: Matrices, sizes: str = "m,n", *, square: bool = True, kind: str = "default", columns: bool = False
) -> Plan:
    """Plan a part of a decomposition of matrices of `m` rows and `n` columns, `k` the smaller of the two: of shape
    `sizes` for each matrix, which is empty for one number.

    `kind`: the dtype is that of A (`default`), `real` or `complex`, or `info` (int32). `columns`: each matrix is
    column-major, as LAPACK leaves it. `operator` is what errors call it. Raises RuntimeError for what are no matrices,
    or not square ones where `square`; DispatchError for other dtypes than single and double precision.
    """
    key = (operator, A.shape, A.dtype, sizes, square, kind, columns)
    spec = _decomposed.get(key)
    if spec is None:
        (check_square if square else check_matrices)(operator, A)
        dtype = _check_precision(operator, A)
        rows, width = A.shape[-2:]
        named = {"m": rows, "n": width, "k": smaller(rows, width)}
        shape = (*A.shape[:-2], *(named[name] for name in sizes.split(",") if name))
        spec = _spec(shape, _dtype_of(kind, dtype), columns)
        _decomposed.keep(key, spec)
    return Plan(spec, (A,))


def hermitian_values(A: Matrices, UPLO: str) -> Plan:
    """Plan values of Hermitian matrices, of which one triangle is read. Raises RuntimeError unless `UPLO` names it."""
    plan = decomposed("linalg.eigh", A, "m", kind="real")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return plan


def not_computed(operator: str, A: Matrices, *, square: bool = True) -> Plan:
    """Plan nothing, of the dtype of A, for a part that was not asked for. Raises what `decomposed` raises."""
    given = decomposed(operator, A, square=square).spec
    return Plan(TensorSpec((0,), (1,), given.dtype), (A,))


def _spec(shape: Shape, dtype: DType, columns: bool, operands: int = 1) -> TensorSpec:
    strides = column_strides(shape) if columns else layouts.contiguous_strides(shape)
    return TensorSpec(shape, strides, dtype, casts=(False,) * operands)


def column_strides(shape: Shape) -> Shape:
    """Return the strides of contiguous batches of column-major matrices."""
    *batch, columns, rows = layouts.contiguous_strides((*shape[:-2], shape[-1], shape[-2]))
    return (*batch, rows, columns)


def _check_precision(operator: str, operand: Any) -> DType:
    check_inexact(operator, operand)
    dtype = as_dtype(operand.dtype)
    if dtype not in (float32, float64, complex64, complex128):
        raise DispatchError(f"{operator}: not implemented for {dtype}: low precision dtypes are not supported")
    return dtype


def _dtype_of(kind: str, dtype: DType) -> DType:
    match kind:
        case "default":
            return dtype
        case "real":
            return to_real(dtype)
        case "complex":
            return dtype if dtype in COMPLEX else complex64 if dtype is float32 else complex128
        case "info":
            return int32
    raise ValueError(f"{kind!r} is no kind of part")


def solution(
    operator: str, A: Matrices, B: Matrices, left: bool = True, *, vectors: bool = False, rows: bool = False
) -> Plan:
    """Plan X of A @ X = B, or of X @ A = B: batches broadcast, each matrix is column-major (row-major where `rows`).

    `vectors`: B may be a vector, or a batch of as many as A has matrices. Raises RuntimeError for shapes or dtypes
    that do not fit.
    """
    check_square(operator, A)
    dtype = _check_precision(operator, A)
    if B.dtype != A.dtype:
        raise RuntimeError(f"{operator}: Expected A and B to have the same dtype, but found {A.dtype} and {B.dtype}")
    is_vector = vectors and (B.ndim == 1 or (B.ndim == A.ndim - 1 and layouts.same_shape(B.shape, A.shape[:-1])))
    if not is_vector:
        check_matrices(operator, B, "B")
    shape = (*B.shape, 1) if is_vector else B.shape
    size = A.shape[-1]
    if not holds(shape[-2 if left else -1] == size):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{operator}: Incompatible shapes of A and B for the equation {equation} "
            f"({size}x{size} and {shape[-2]}x{shape[-1]})"
        )
    batch = layouts.broadcast_shapes([shape[:-2], A.shape[:-2]])
    whole = (*batch, *shape[-2:])[: -1 if is_vector else None]
    # Batches of vectors are laid out as one matrix would be, as in PyTorch.
    strides = layouts.contiguous_strides(whole) if rows or len(whole) < 2 else column_strides(whole)
    return Plan(TensorSpec(whole, strides, dtype), (A, B))


def coefficients(operator: str, A: Matrices, B: Matrices) -> Plan:
    """Plan A as it was used to solve a system: in the batch that A and B broadcast to, column-major."""
    shape = solution(operator, A, B).shape
    return Plan(_spec((*shape[:-2], *A.shape[-2:]), as_dtype(A.dtype), True), (A, B))


def lu_solution(LU: Matrices, pivots: Vectors, B: Matrices, left: bool) -> Plan:
    """Plan X of A @ X = B, or of X @ A = B, from the LU factors of A: row-major for the latter. Raises RuntimeError
    where `pivots` do not belong to the factors."""
    spec = solution("linalg.lu_solve", LU, B, left, rows=not left).spec
    if pivots.dtype != int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if not layouts.same_shape(pivots.shape, LU.shape[:-1]):
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    return Plan(spec, (LU, pivots, B))


def qr(A: Matrices, mode: str) -> tuple[Plan, Plan]:
    """Plan Q and R of each matrix, column-major. Raises RuntimeError for an unknown mode."""
    check_matrices("linalg.qr", A)
    match mode:
        case "reduced":
            q = decomposed("linalg.qr", A, "m,k", square=False, columns=True)
        case "complete":
            q = decomposed("linalg.qr", A, "m,m", square=False, columns=True)
        case "r":
            q = not_computed("linalg.qr", A, square=False)
        case _:
            raise RuntimeError(
                f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
            )
    return q, decomposed("linalg.qr", A, "m,n" if mode == "complete" else "k,n", square=False, columns=True)


def svd(A: Matrices, full_matrices: bool, compute_uv: bool, driver: str | None) -> tuple[Plan, Plan, Plan]:
    """Plan U, S and Vh of each matrix; U and Vh column-major, or nothing. Raises RuntimeError for a `driver`."""
    values = decomposed("linalg.svd", A, "k", square=False, kind="real")
    if driver is not None and not layouts.is_empty(A.shape):
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs")
    if not compute_uv:
        nothing = not_computed("linalg.svd", A, square=False)
        return nothing, values, nothing
    left, right = ("m,m", "n,n") if full_matrices else ("m,k", "k,n")
    u, vh = (decomposed("linalg.svd", A, sizes, square=False, columns=True) for sizes in (left, right))
    return u, values, vh


def polar(A: Matrices) -> tuple[Plan, Plan]:
    """Plan U and H of each matrix, row-major. Raises RuntimeError for matrices with fewer rows than columns."""
    check_matrices("linalg.polar", A)
    rows, columns = A.shape[-2:]
    if not holds(rows >= columns):
        raise RuntimeError(
            f"linalg.polar: input must have at least as many rows as columns, but got {rows} by {columns} matrices"
        )
    return decomposed("linalg.polar", A, square=False), decomposed("linalg.polar", A, "n,n", square=False)


def lu_factors(A: Matrices, pivot: bool) -> tuple[Plan, Plan, Plan]:
    """Plan LU in one column-major matrix, pivots, info. Raises RuntimeError without `pivot`, if there are elements."""
    factors = decomposed("torch.lu_factor", A, "m,n", square=False, columns=True)
    _check_pivot(A, pivot)
    pivots, info = (decomposed("torch.lu_factor", A, size, square=False, kind="info") for size in ("k", ""))
    return factors, pivots, info


def lu_parts(A: Matrices, pivot: bool) -> tuple[Plan, Plan, Plan]:
    """Plan P (nothing without `pivot`), L and U. Raises RuntimeError without `pivot`, where there are elements."""
    permutation = (
        decomposed("linalg.lu", A, "m,m", square=False) if pivot else not_computed("linalg.lu", A, square=False)
    )
    _check_pivot(A, pivot)
    lower, upper = (decomposed("linalg.lu", A, sizes, square=False) for sizes in ("m,k", "k,n"))
    return permutation, lower, upper


def _check_pivot(A: Any, pivot: bool) -> None:
    if not pivot and not layouts.is_empty(A.shape):
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
