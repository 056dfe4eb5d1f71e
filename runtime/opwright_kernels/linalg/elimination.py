"""Gaussian elimination: LU with partial pivoting, triangular and general systems, for batches of matrices.

It is used where `lapack` is not: on a GPU, for batches of many small matrices, and where NumPy's LAPACK has no
routine by a name that is known. Python loops over columns, a block at a time; whatever is cubic is a product of
matrices.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

Array = Any

_BLOCK = 24


def factor(xp: ModuleType, A: Array) -> tuple[Array, Array, Array]:
    """Factor P @ A = L @ U: L below the diagonal and U from it on in one matrix, the row that was swapped with each
    (counted from 1, int32), and the rows of A in the order of P."""
    rows, columns = A.shape[-2:]
    count = min(rows, columns)
    matrices = xp.array(A, order="C").reshape(_count(A), rows, columns)
    each = xp.arange(len(matrices))
    order = xp.tile(xp.arange(rows), (len(matrices), 1))
    pivots = xp.zeros((len(matrices), count), "int32")
    for start in range(0, count, _BLOCK):
        stop = min(start + _BLOCK, count)
        for j in range(start, stop):
            pivot = j + xp.argmax(_magnitude(xp, matrices[:, j:, j]), axis=1)
            pivots[:, j] = pivot + 1
            for rows_of in (matrices, order):
                found = rows_of[each, pivot]
                rows_of[each, pivot] = rows_of[:, j]
                rows_of[:, j] = found
            divisor = matrices[:, j, j, None]
            below = matrices[:, j + 1 :, j]
            below[...] = xp.where(divisor != 0, below / divisor, below)
            matrices[:, j + 1 :, j + 1 : stop] -= below[:, :, None] * matrices[:, j, None, j + 1 : stop]
        if stop < columns:
            block = matrices[:, start:stop, start:stop]
            matrices[:, start:stop, stop:] = solve_triangle(xp, block, matrices[:, start:stop, stop:], False, True)
            matrices[:, stop:, stop:] -= matrices[:, stop:, start:stop] @ matrices[:, start:stop, stop:]
    batch = A.shape[:-2]
    return matrices.reshape(A.shape), pivots.reshape(*batch, count), order.reshape(*batch, rows)


def _count(A: Array) -> int:
    """Return how many matrices there are (a size of -1 cannot be told where they are empty)."""
    total = 1
    for size in A.shape[:-2]:
        total *= size
    return total


def _magnitude(xp: ModuleType, values: Array) -> Array:
    """Return what LAPACK compares to choose a pivot."""
    return xp.abs(values.real) + xp.abs(values.imag) if values.dtype.kind == "c" else xp.abs(values)


def first_zero(xp: ModuleType, factors: Array) -> Array:
    """Return which diagonal element of U is the first zero, counted from 1; 0 where none is (int32)."""
    zeros = xp.diagonal(factors, axis1=-2, axis2=-1) == 0
    if not zeros.shape[-1]:
        return xp.zeros(zeros.shape[:-1], "int32")
    return xp.where(zeros.any(axis=-1), zeros.argmax(axis=-1) + 1, 0).astype("int32")


def is_odd(xp: ModuleType, pivots: Array) -> Array:
    """Whether the rows were swapped an odd number of times."""
    swapped = pivots != xp.arange(1, pivots.shape[-1] + 1)
    return swapped.sum(axis=-1) % 2 == 1


def solve_factored(xp: ModuleType, factors: Array, order: Array, B: Array) -> Array:
    """Return X with A @ X = B, from what `factor` gives for A; the batches broadcast."""
    batch = xp.broadcast_shapes(factors.shape[:-2], B.shape[:-2])
    order = xp.broadcast_to(order, (*batch, order.shape[-1]))
    rows = xp.take_along_axis(xp.broadcast_to(B, (*batch, *B.shape[-2:])), order[..., None], axis=-2)
    return solve_triangle(xp, factors, solve_triangle(xp, factors, rows, False, True), True, False)


def solve_triangle(xp: ModuleType, A: Array, B: Array, upper: bool, unit: bool) -> Array:
    """Return X with A @ X = B, for one triangle of A; `unit`: with ones on its diagonal. The batches broadcast.

    A zero on the diagonal divides, as in LAPACK: infinities and NaNs.
    """
    batch = xp.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    flip = (..., slice(None, None, -1), slice(None))
    result = xp.empty((*batch, *B.shape[-2:]), B.dtype)
    result[...] = B[flip] if upper else B
    # Upper triangles are lower ones seen from the other end; products want them copied.
    _substitute(xp, xp.ascontiguousarray(A[..., ::-1, ::-1]) if upper else A, result, unit)
    return result[flip] if upper else result


def _substitute(xp: ModuleType, A: Array, X: Array, unit: bool) -> None:
    size = A.shape[-1]
    if size > _BLOCK:
        half = size // 2
        _substitute(xp, A[..., :half, :half], X[..., :half, :], unit)
        X[..., half:, :] -= A[..., half:, :half] @ X[..., :half, :]
        _substitute(xp, A[..., half:, half:], X[..., half:, :], unit)
        return
    for row in range(size):
        if row:
            X[..., row : row + 1, :] -= A[..., row : row + 1, :row] @ X[..., :row, :]
        if not unit:
            X[..., row, :] /= A[..., row, row, None]
