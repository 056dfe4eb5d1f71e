"""Householder reflections: H = 1 - tau v v^H, where v is 1 at a position of its own, and below that what a column
holds.

The products of many, `H[0] @ H[1] @ …`, are the orthogonal factors that LAPACK leaves (`geqrf`). Batches are computed
at once; Python loops over reflections.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.locks.long_calls import cubic

Array = Any


@cubic
def triangle_and_reflections(xp: ModuleType, self: Array) -> tuple[Array, Array]:
    """Return R on and above the diagonal, reflections below it, and their tau (`geqrf`)."""
    if xp is np:
        turned, tau = xp.linalg.qr(self, mode="raw")
        return turned.swapaxes(-1, -2), tau
    rows, columns = self.shape[-2:]
    turned = xp.empty((*self.shape[:-2], columns, rows), self.dtype)
    tau = xp.empty((*self.shape[:-2], min(rows, columns)), self.dtype)
    for position in np.ndindex(self.shape[:-2]):  # CuPy's takes no batches
        turned[position], tau[position] = xp.linalg.qr(self[position], mode="raw")
    return turned.swapaxes(-1, -2), tau


@cubic
def product_of_reflections(xp: ModuleType, input: Array, tau: Array) -> Array:
    """Return the first columns of the product, as many as `input` has (`linalg_householder_product`)."""
    rows, columns = input.shape[-2:]
    result = xp.broadcast_to(xp.eye(rows, columns, dtype=input.dtype), input.shape)
    return _reflected(xp, input, tau, result, False)


@cubic
def multiply_by_reflections(
    xp: ModuleType, self: Array, input2: Array, input3: Array, left: bool, transpose: bool
) -> Array:
    """Return Q @ C, or C @ Q, for the product Q of reflections, or for its adjoint (`ormqr`)."""
    if left:
        return _reflected(xp, self, input2, input3, transpose)
    return _adjoint(_reflected(xp, self, input2, _adjoint(input3), not transpose))


def _adjoint(matrices: Array) -> Array:
    return matrices.conj().swapaxes(-1, -2)


def _reflected(xp: ModuleType, A: Array, tau: Array, X: Array, adjoint: bool) -> Array:
    """Return the product of the reflections, or its adjoint, times `X`."""
    result = xp.array(X, order="C")
    count = tau.shape[-1]
    for position in range(count) if adjoint else reversed(range(count)):
        factor = tau[..., position, None, None]
        column = xp.array(A[..., position:, position, None])
        column[..., 0, :] = 1
        rows = result[..., position:, :]
        rows -= (factor.conj() if adjoint else factor) * (column @ (_adjoint(column) @ rows))
    return result
