"""Decompositions of matrices that are singular, zero, not symmetric, have repeated values, or no rows, against
PyTorch: values and gradients, of what no choice of signs changes. (What is not finite is LAPACK's matter.)"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import seeds
from excuses import Known, Table

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def matrices() -> dict[str, np.ndarray]:
    rng = seeds.numpy_generator(0)
    square = rng.normal(size=(3, 3))
    complex_ = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    return {
        "zeros": np.zeros((3, 3)),
        "identity": np.eye(3),
        "rank 1": np.ones((3, 3)),
        "repeated": np.diag([2.0, 2.0, 1.0]),
        "not symmetric": square,
        "symmetric": square @ square.T + np.eye(3),
        "permutation": np.eye(3)[[1, 2, 0]],
        "jordan": np.array([[1.0, 1.0], [0.0, 1.0]]),
        "singular": np.array([[1.0, 2.0], [2.0, 4.0]]),
        "negative": -np.eye(2),
        "0 by 0": np.zeros((0, 0)),
        "1 by 1": np.array([[-2.0]]),
        "1 by 1, zero": np.array([[0.0]]),
        "0 by 3": np.zeros((0, 3)),
        "3 by 0": np.zeros((3, 0)),
        "no matrices": np.zeros((0, 2, 2)),
        "several": np.stack([np.zeros((2, 2)), np.eye(2), np.ones((2, 2))]),
        "wide": rng.normal(size=(2, 3)),
        "tall": rng.normal(size=(3, 2)),
        "tall, rank 1": np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]),
        "complex": complex_,
        "hermitian": complex_ + complex_.conj().T,
        "complex zeros": np.zeros((2, 2), complex),
    }


MATRICES = matrices()


def product(*factors: Any) -> Any:
    found = factors[0]
    for factor in factors[1:]:
        found = found @ factor
    return found


def of_svd(t: Any, x: Any) -> Any:
    u, s, v = t.linalg.svd(x, full_matrices=False)
    return (u * s.unsqueeze(-2)) @ v


def of_eigh(t: Any, x: Any) -> Any:
    values, vectors = t.linalg.eigh(x)
    return (vectors * values.unsqueeze(-2)) @ vectors.mH


ACTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "svdvals": lambda t, x: t.linalg.svdvals(x),
    "svd": of_svd,
    "svd, values": lambda t, x: t.linalg.svd(x)[1],
    "eigh": of_eigh,
    "eigh, values": lambda t, x: t.linalg.eigh(x)[0],
    "eigvalsh": lambda t, x: t.linalg.eigvalsh(x, UPLO="U"),
    "eigvals": lambda t, x: t.sort(t.linalg.eigvals(x).abs())[0],
    "eig, values": lambda t, x: t.sort(t.linalg.eig(x)[0].real)[0],
    "qr": lambda t, x: product(*t.linalg.qr(x)),
    "qr, complete": lambda t, x: product(*t.linalg.qr(x, mode="complete")),
    "qr, R": lambda t, x: t.linalg.qr(x, mode="r")[1].abs(),
    "cholesky": lambda t, x: t.linalg.cholesky(x),
    "cholesky, upper": lambda t, x: t.linalg.cholesky(x, upper=True),
    "cholesky_ex": lambda t, x: t.linalg.cholesky_ex(x)[1],
    "cholesky_inverse": lambda t, x: t.cholesky_inverse(x),
    "lu": lambda t, x: product(*t.linalg.lu(x)),
    "lu, L": lambda t, x: t.linalg.lu(x)[1],
    "lu, U": lambda t, x: t.linalg.lu(x)[2],
    "lu_factor": lambda t, x: t.linalg.lu_factor(x)[0],
    "lu_factor_ex": lambda t, x: t.linalg.lu_factor_ex(x)[0],
    "lu_factor_ex, pivots": lambda t, x: t.linalg.lu_factor_ex(x)[1],
    "lu_factor_ex, info": lambda t, x: t.linalg.lu_factor_ex(x)[2],
    "det": lambda t, x: t.linalg.det(x),
    "slogdet": lambda t, x: t.linalg.slogdet(x)[1],
    "slogdet, sign": lambda t, x: t.linalg.slogdet(x)[0],
    "logdet": lambda t, x: t.logdet(x).real,
    "inv": lambda t, x: t.linalg.inv(x),
    "inv_ex": lambda t, x: t.linalg.inv_ex(x)[0],
    "inv_ex, info": lambda t, x: t.linalg.inv_ex(x)[1],
    "pinv": lambda t, x: t.linalg.pinv(x),
    "pinv, hermitian": lambda t, x: t.linalg.pinv(x, hermitian=True),
    "matrix_rank": lambda t, x: t.linalg.matrix_rank(x),
    "matrix_rank, hermitian": lambda t, x: t.linalg.matrix_rank(x, hermitian=True),
    "cond": lambda t, x: t.linalg.cond(x),
    "cond 1": lambda t, x: t.linalg.cond(x, 1),
    "cond -2": lambda t, x: t.linalg.cond(x, -2),
    "cond fro": lambda t, x: t.linalg.cond(x, "fro"),
    "cond nuc": lambda t, x: t.linalg.cond(x, "nuc"),
    "norm nuc": lambda t, x: t.linalg.matrix_norm(x, "nuc"),
    "norm 2": lambda t, x: t.linalg.matrix_norm(x, 2),
    "norm -2": lambda t, x: t.linalg.matrix_norm(x, -2),
    "matrix_power -1": lambda t, x: t.linalg.matrix_power(x, -1),
    "matrix_power 0": lambda t, x: t.linalg.matrix_power(x, 0),
    "matrix_power 3": lambda t, x: t.linalg.matrix_power(x, 3),
    "solve": lambda t, x: t.linalg.solve(x, t.ones_like(x)),
    "solve_ex": lambda t, x: t.linalg.solve_ex(x, t.ones_like(x))[0],
    "solve_triangular": lambda t, x: t.linalg.solve_triangular(x, t.ones_like(x), upper=True),
    "tensorinv": lambda t, x: t.linalg.tensorinv(x, ind=1),
}
# By the action, and "matrix: value" or "matrix: gradient".
KNOWN = Table(
    "test_decomposition_corners.KNOWN",
    Known("cond (1|fro)", "gradient", "PyTorch's backward fails, since it wrote to the inverse; ours is the inverse's"),
    Known(".*", "tall, rank 1: (value|gradient)", "rounding says whether it is singular, and where its zeros point"),
    Known("det", "(singular|several): gradient", "it is the adjugate, which PyTorch replaces by 0 after rounding"),
    Known(
        "cond( nuc)?",
        "(rank 1|singular|several): (value|gradient)",
        "divided by a singular value of 1e-17",
        only="some CPUs",
    ),
    Known(
        "eigvals|eig, values",
        "(rank 1|permutation|several): gradient",
        "repeated values, in any order",
        only="some CPUs",
    ),
    Known(
        "eigvalsh|eigh, values",
        "rank 1: gradient",
        "rounding says which vectors a repeated value has: LAPACK's loops, by the CPU",
        only="some CPUs",
    ),
    Known(
        "svdvals|svd(, values)?|qr(, complete)?|cond -2|norm (nuc|-2)",
        "(rank 1|singular|several): gradient",
        "a singular value of 0 has no direction of its own: LAPACK's loops choose one, by the CPU",
        only="some CPUs",
    ),
    Known("norm 2", "(0 by 0|0 by 3|3 by 0): gradient", "PyTorch returns a new zero; here it is the sum of nothing"),
    Known("cholesky_inverse", "gradient", "PyTorch gives one to the half that it does not read, too"),
    Known("cholesky_inverse", "complex: value", "the diagonal of such a factor is real"),
    Known("matrix_rank, hermitian", "(0 by 3|3 by 0): value", "such matrices have no eigenvalues"),
    Known("solve_ex", "(zeros|several): gradient", "of a matrix without an inverse: NaN or infinite in both"),
)


def outcome(t: Any, action: str, matrix: np.ndarray) -> tuple[Any, Any]:
    """The value and the gradient, or the errors in their place."""
    x = (torch.from_numpy if t is torch else opwright.from_numpy)(matrix.copy()).requires_grad_()
    try:
        found = ACTIONS[action](t, x)
    except (RuntimeError, IndexError) as error:
        return error, None
    value = np.asarray(found.detach().numpy())
    if not found.requires_grad:
        return value, None
    vector = (t.arange(1, found.numel() + 1, dtype=t.float64) / 3).reshape(found.shape).to(found.dtype)
    try:
        return value, np.asarray(t.autograd.grad([found], [x], [vector])[0].numpy())
    except RuntimeError as error:
        return value, error


def is_equal(mine: Any, right: Any) -> bool:
    if not isinstance(mine, np.ndarray) or not isinstance(right, np.ndarray):
        return isinstance(mine, Exception) == isinstance(right, Exception) and (mine is None) == (right is None)
    if (mine.shape, mine.dtype) != (right.shape, right.dtype):
        return False
    if mine.dtype.kind == "c":
        if not np.array_equal(np.isfinite(mine), np.isfinite(right)):
            return False
        mine, right = (np.where(np.isfinite(each), each, 0) for each in (mine, right))
    return np.allclose(mine, right, rtol=1e-6, atol=1e-7, equal_nan=True)


def problems(action: str) -> Iterator[str]:
    for name, matrix in MATRICES.items():
        pairs = zip(outcome(opwright, action, matrix), outcome(torch, action, matrix), strict=True)
        for what, (mine, right) in zip(("value", "gradient"), pairs, strict=True):
            text = f"{name}: {what}"
            if not is_equal(mine, right) and not KNOWN.covers(action, text):
                yield f"{text} {mine!r:.300}, not {right!r:.300}"


@pytest.mark.parametrize("action", ACTIONS)
def test_decompositions(action: str) -> None:
    found = list(problems(action))
    assert not found, "\n".join(found)
