"""Square roots of Hermitian matrices and polar decompositions: what defines them, and their gradients where PyTorch's
are known by hand."""

from __future__ import annotations

import numpy as np
import pytest
import seeds

import opwright


def drawn(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    real, imaginary = seeds.numpy_generator("polar").normal(size=(2, *shape))
    return (real + 1j * imaginary if np.dtype(dtype).kind == "c" else real).astype(dtype)


def adjoint(matrices: np.ndarray) -> np.ndarray:
    return matrices.conj().swapaxes(-1, -2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (2, 4, 4), (0, 3, 2), (4, 0)])
def test_factors(shape: tuple[int, ...], dtype: str) -> None:
    given = drawn(shape, dtype)
    U, H = map(np.asarray, opwright.linalg.polar(given))
    near = 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(U @ H, given, atol=near)
    np.testing.assert_allclose(adjoint(U) @ U, np.broadcast_to(np.eye(shape[-1]), H.shape), atol=near)
    np.testing.assert_array_equal(H, adjoint(H))
    assert (np.linalg.eigvalsh(H) > -near).all()
    assert U.dtype == H.dtype == dtype


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 3, 3), (0, 0)])
def test_roots(shape: tuple[int, ...], dtype: str) -> None:
    half = drawn(shape, dtype)
    given = half @ adjoint(half)
    read = np.tril(given) + np.triu(np.full_like(given, 7), 1)
    root = np.asarray(opwright.linalg.matrix_sqrth(read))
    near = 200 * np.finfo(dtype).eps
    np.testing.assert_allclose(root @ root, given, atol=near)
    np.testing.assert_array_equal(root, adjoint(root))
    assert (np.linalg.eigvalsh(root) > -near).all()
    assert root.dtype == dtype


def test_the_root_of_h_is_that_of_the_square() -> None:
    """H of A = U H is the root of A^H A."""
    given = drawn((5, 3), "complex128")
    H = opwright.linalg.polar(given)[1]
    np.testing.assert_allclose(np.asarray(opwright.linalg.matrix_sqrth(adjoint(given) @ given)), H, atol=1e-12)


def test_negative_eigenvalues_are_zero() -> None:
    root = opwright.linalg.matrix_sqrth(opwright.tensor([[-4.0, 0.0], [0.0, 9.0]]))
    assert root.tolist() == [[0.0, 0.0], [0.0, 3.0]]


def test_matrices_that_are_wide() -> None:
    with pytest.raises(RuntimeError, match="at least as many rows as columns, but got 2 by 3 matrices"):
        opwright.linalg.polar(opwright.ones(2, 3))


# Of twice the identity, where the gradients of results are 0, 1, 2, …: as PyTorch 2.14.1 gave them.
GRADIENTS = {
    "polar": [[0, 1.5, 3], [2.5, 4, 5.5], [5, 6.5, 8]],
    "matrix_sqrth": [[0, 0.7071, 1.4142], [0.7071, 1.4142, 2.1213], [1.4142, 2.1213, 2.8284]],
}


@pytest.mark.parametrize("name", ["polar", "matrix_sqrth"])
def test_equal_eigenvalues_have_gradients(name: str) -> None:
    given = (2 * opwright.eye(3, dtype=opwright.float64)).requires_grad_()
    found = getattr(opwright.linalg, name)(given)
    results = found if isinstance(found, tuple) else (found,)
    weights = [opwright.arange(9.0, dtype=opwright.float64).reshape(3, 3) for _ in results]
    (gradient,) = opwright.autograd.grad(results, given, weights)
    np.testing.assert_allclose(gradient.tolist(), GRADIENTS[name], atol=5e-5)


@pytest.mark.parametrize("name", ["polar", "matrix_sqrth"])
def test_singular_matrices_have_none(name: str) -> None:
    given = opwright.zeros(2, 2, requires_grad=True)
    found = getattr(opwright.linalg, name)(given)
    (gradient,) = opwright.autograd.grad(found[0].sum(), given)
    assert gradient.isnan().all()
