"""Python functions on vectors and matrices whose signature is no operator's, and `opwright.linalg`, against PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import seeds
from known_versions import is_not_there
from sampling import FLOAT32, FLOAT64, make

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import call, difference, to_opwright, to_torch  # noqa: E402
from sampling import Sample  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

A, B, C = make((2, 3), FLOAT32), make((3, 4), FLOAT32), make((4, 3, 2), FLOAT32)


@pytest.mark.parametrize(
    "name, args",
    [
        ("einsum", ("ij,jk->ik", A, B)),
        ("einsum", ("ij,jk->ik", [A, B])),
        ("einsum", (A, [0, 1], B, [1, 2], [0, 2])),
        ("einsum", (A, [0, 1], B, [1, 2])),
        ("einsum", (A, [26, 0], B, [0, 51])),
        ("einsum", (C, [..., 0], [0, ...])),
        ("einsum", (A, [0, 52])),
        ("einsum", ("ij",)),
        ("tensordot", (C, A, 1)),
        ("tensordot", (C, C, 0)),
        ("tensordot", (C, A, ([1, 2], [1, 0]))),
        ("tensordot", (C, A, -1)),
        ("tensordot", (A, B, 3)),
        ("chain_matmul", (A, B)),
    ],
)
def test_function(name: str, args: tuple[Any, ...]) -> None:
    one = Sample(args)
    mine, other = (call(getattr(of, name), one, to) for of, to in ((opwright, to_opwright), (torch, to_torch)))
    assert difference(mine, other) is None


def test_the_names_of_linalg_are_pytorchs() -> None:
    assert not [
        name
        for name in opwright.linalg.__all__
        if not hasattr(torch.linalg, name) and not is_not_there(f"linalg_{name}")
    ]


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "eigvalsh", "matrix_rank", "cond", "matrix_norm", "pinv"])
def test_linalg(name: str) -> None:
    one = Sample((make((3, 3), FLOAT64) + 9 * np.eye(3),))
    mine, other = (call(getattr(of.linalg, name), one, to) for of, to in ((opwright, to_opwright), (torch, to_torch)))
    assert difference(mine, other) is None


def test_a_singular_matrix() -> None:
    with pytest.raises(opwright.linalg.LinAlgError, match=r"\(Batch element 1\): The diagonal element 2 is"):
        opwright.linalg.inv(opwright.tensor([[[1.0, 0], [0, 1]], [[1, 1], [1, 1]]]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_exponentials_are_as_exact_as_pytorchs(dtype: str) -> None:
    """Each squaring on the way doubles what was rounded, so that a dtype may have no more of them than it needs."""
    real, imaginary = seeds.numpy_generator("exponentials").normal(size=(2, 100, 7, 7)) * 3
    matrices = (real + 1j * imaginary if np.dtype(dtype).kind == "c" else real).astype(dtype)
    wide = {"float32": "float64", "complex64": "complex128"}.get(dtype, dtype)
    exact = _exponentials(matrices.astype(wide))
    size = np.abs(exact).max((-1, -2))
    mine, other = (
        np.median(np.abs(np.asarray(found) - exact).max((-1, -2)) / size)
        for found in (opwright.linalg.matrix_exp(matrices), torch.linalg.matrix_exp(torch.from_numpy(matrices)))
    )
    assert mine <= 2 * other


def _exponentials(matrices: np.ndarray) -> np.ndarray:
    """Exponentials in as many digits as NumPy has."""
    wide = np.clongdouble if matrices.dtype.kind == "c" else np.longdouble
    step = matrices.astype(wide) / 2**14
    term = result = np.broadcast_to(np.eye(matrices.shape[-1], dtype=wide), matrices.shape)
    for order in range(1, 12):
        term = term @ step / order
        result = result + term
    for _ in range(14):
        result = result @ result
    return result


SUMS_OF_PRODUCTS = {"addmm": [(2, 2)] * 3, "addmv": [(2,), (2, 2), (2,)], "baddbmm": [(1, 2, 2)] * 3,
                    "addbmm": [(2, 2), (1, 2, 2), (1, 2, 2)]}  # fmt: skip


@pytest.mark.parametrize("scale", [1.5, 2.0, -1.7])
@pytest.mark.parametrize("name", SUMS_OF_PRODUCTS)
def test_scales_of_integers_are_cut_at_the_point(name: str, scale: float) -> None:
    def of(library: Any) -> Any:
        operands = [library.arange(math.prod(shape)).reshape(shape) for shape in SUMS_OF_PRODUCTS[name]]
        return getattr(library, name)(*operands, alpha=scale, beta=scale).tolist()

    assert of(opwright) == of(torch)


@pytest.mark.parametrize("library", [opwright, torch])
@pytest.mark.parametrize("name", ["linalg_lu_solve", "lu_unpack", "linalg_ldl_solve"])
def test_pivots_that_name_no_row_are_refused_as_pytorch_does(library: Any, name: str) -> None:
    """LAPACK writes wherever they say."""
    function = getattr(library.ops.aten, name)
    for pivot, batch in ((0, ()), (7, ()), (7, (2,)), (0, (2,))):
        factors = library.ones(*batch, 3, 3, dtype=library.float64)
        pivots = library.tensor(np.broadcast_to(np.array([1, pivot, 3], np.int32), (*batch, 3)).copy())
        with pytest.raises(RuntimeError, match="ivots"):
            function(factors, pivots, *([] if name == "lu_unpack" else [factors]))
