"""Square roots of Hermitian matrices, and the factors of polar decompositions."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.locks.long_calls import cubic
from opwright_kernels.linalg.decompositions import eigh, singular_value_decomposition

Array = Any


@cubic
def hermitian_square_root(xp: ModuleType, self: Array) -> Array:
    """Return X with X @ X = A for Hermitian matrices of which the lower triangle is read; negative eigenvalues count as
    0 (`linalg_matrix_sqrth`)."""
    values, vectors = eigh(xp, self, "L", True)
    roots = xp.sqrt(xp.maximum(values, 0))
    return _hermitian((vectors * roots[..., None, :]) @ _adjoint(vectors))


@cubic
def polar_factors(xp: ModuleType, A: Array) -> tuple[Array, Array]:
    """Return U with orthonormal columns and a positive-semidefinite H with A = U @ H (`linalg_polar`)."""
    u, s, vh = singular_value_decomposition(xp, A, False, True, None)
    return u @ vh, _hermitian((_adjoint(vh) * s[..., None, :]) @ vh)


def _adjoint(matrices: Array) -> Array:
    return matrices.conj().swapaxes(-1, -2)


def _hermitian(matrices: Array) -> Array:
    """Return matrices with the rounding of their two triangles made equal."""
    return (matrices + _adjoint(matrices)) * 0.5
