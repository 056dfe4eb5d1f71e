"""LDL factors of symmetric and Hermitian matrices, by Bunch and Kaufman's diagonal pivoting, as LAPACK stores them.

D has blocks of one or two rows. A pivot is the row that was swapped with a row of a block, counted from 1, and negative
for blocks of two. The choice of pivots is one of each matrix, so that batches are computed one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.core import compiled
from opwright_core.locks.long_calls import cubic

Array = Any

_GROWTH = (1 + sqrt(17)) / 8  # bounds how fast elements grow, whichever size a block has


@compiled
@cubic
def ldl_and_info(xp: ModuleType, self: Array, hermitian: bool, check_errors: bool) -> tuple[Array, Array, Array]:
    """Return L below D in one triangle, pivots, and 0 or the position of the first block of D that is zero
    (`linalg_ldl_factor_ex`). Of a matrix the lower triangle is read."""
    from opwright_kernels.linalg.decompositions import check_factorizations

    is_hermitian = hermitian and self.dtype.kind == "c"
    lower, below = xp.tril(self), xp.tril(self, -1)
    above = below.swapaxes(-1, -2)
    factors = below + above.conj() + (lower - below).real if is_hermitian else lower + above
    pivots = xp.zeros(self.shape[:-1], "int32")
    info = xp.zeros(self.shape[:-2], "int32")
    for position in np.ndindex(self.shape[:-2]):
        order, info[position] = _factor(xp, factors[position], is_hermitian)
        pivots[position] = xp.asarray(order, "int32")
    if check_errors:
        check_factorizations(info, "torch.linalg.ldl_factor_ex", self.ndim == 2)
    return xp.tril(factors), pivots, info


def _factor(xp: ModuleType, A: Array, hermitian: bool) -> tuple[list[int], int]:
    """Factor one matrix in place; both triangles of what is not factored yet are kept. Return pivots and info."""
    pivots: list[int] = []
    info = 0
    while (k := len(pivots)) < len(A):
        rest = A[k:, k:]
        size, other = _choice(xp, rest, hermitian)
        if not size:
            info, size = info or k + 1, 1
        else:
            _swap(rest, size - 1, other)
            _eliminate(rest, size, hermitian)
        pivots += [k + other + 1] if size == 1 else [-(k + other + 1)] * 2
    return pivots, info


def _choice(xp: ModuleType, rest: Array, hermitian: bool) -> tuple[int, int]:
    """Return the size of the next block, 0 where its column is zero, and the row to be swapped with its last one."""
    sizes = _size(xp, rest[:, 0])
    first = float(abs(rest[0, 0]) if hermitian else sizes[0])
    below = sizes[1:]
    largest = float(below.max()) if len(below) else 0.0
    if max(first, largest) == 0 or first != first:
        return 0, 0
    if first >= _GROWTH * largest:
        return 1, 0
    other = 1 + int(below.argmax())
    row = _size(xp, rest[other])
    corner = float(row[other])
    row[other] = 0
    beside = float(row.max())
    if first >= _GROWTH * largest * (largest / beside):
        return 1, 0
    return (1, other) if corner >= _GROWTH * beside else (2, other)


def _size(xp: ModuleType, values: Array) -> Array:
    """Return what LAPACK compares: cheaper than absolute values where numbers are complex."""
    return xp.abs(values.real) + xp.abs(values.imag) if values.dtype.kind == "c" else xp.abs(values)


def _swap(matrix: Array, first: int, second: int) -> None:
    """Swap two rows, and the columns of their positions."""
    if first == second:
        return
    _swap_rows(matrix, first, second)
    _swap_rows(matrix.T, first, second)


def _eliminate(rest: Array, size: int, hermitian: bool) -> None:
    """Divide what is below a block by the block, and take the products off what is beyond it."""
    if size == len(rest):
        return
    columns = rest[size:, :size].copy()
    scaled = _divided(columns, rest[:size, :size])
    rest[size:, :size] = scaled
    beyond = rest[size:, size:]
    beyond -= scaled @ (columns.conj() if hermitian else columns).T
    if hermitian:  # rounding leaves imaginary parts
        positions = np.arange(len(beyond))
        beyond[positions, positions] = beyond.diagonal().real.copy()


def _divided(columns: Array, block: Array) -> Array:
    """Return columns @ block^-1."""
    if len(block) == 1:
        return columns / block[0, 0]
    # Divided by the elements beside the diagonal first: they are the largest, so that nothing overflows.
    (a, b), (c, d) = block
    determinant = (a / c) * (d / b) - 1
    first, second = columns[:, 0] / c, columns[:, 1] / b
    result = columns.copy()
    result[:, 0] = (first * (d / b) - second) / determinant
    result[:, 1] = (second * (a / c) - first) / determinant
    return result


@cubic
def solve_with_ldl(xp: ModuleType, LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    """Return X with A @ X = B, from the factors of A; the batches broadcast (`linalg_ldl_solve`).

    Raises RuntimeError for pivots that name no row.
    """
    if pivots.size and not 1 <= int(abs(pivots).min()) <= int(abs(pivots).max()) <= LD.shape[-2]:
        raise RuntimeError(
            "linalg.ldl_solve: pivots or their negatives must be between 1 and LD.size(-2): ldl_factor returns them"
        )
    batch = xp.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    factors = xp.broadcast_to(LD, (*batch, *LD.shape[-2:]))
    orders = xp.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    result = xp.array(xp.broadcast_to(B, (*batch, *B.shape[-2:])), order="C")
    for position in np.ndindex(batch):
        _solve(factors[position], orders[position].tolist(), result[position], hermitian and LD.dtype.kind == "c")
    return result


def _blocks(pivots: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield where each block begins, where the rows after it begin, and the row that was swapped with its last one."""
    start = 0
    while start < len(pivots):
        stop = start + (1 if pivots[start] > 0 else 2)
        yield start, stop, abs(pivots[start]) - 1
        start = stop


def _solve(A: Array, pivots: list[int], X: Array, hermitian: bool) -> None:
    """Divide X by L and D, then by the transposed L, in place."""
    blocks = list(_blocks(pivots))
    for start, stop, other in blocks:
        _swap_rows(X, stop - 1, other)
        X[stop:] -= A[stop:, start:stop] @ X[start:stop]
        block = A[start:stop, start:stop].copy()
        if len(block) == 2:
            block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
        X[start:stop] = _divided(X[start:stop].T, block.T).T
    for start, stop, other in reversed(blocks):
        below = A[stop:, start:stop]
        X[start:stop] -= (below.conj() if hermitian else below).T @ X[stop:]
        _swap_rows(X, stop - 1, other)


def _swap_rows(X: Array, first: int, second: int) -> None:
    if first != second:
        held = X[first].copy()
        X[first] = X[second]
        X[second] = held
