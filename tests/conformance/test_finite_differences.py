"""First and second derivatives against finite differences, of what PyTorch has none of, or others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sampling import FLOAT64, make

import opwright
from opwright.autograd import gradcheck, gradgradcheck

aten = opwright.ops.aten
ROWS = np.array([[0, 1, 1, 0], [0, 2, 1, 1]])
CLASSES = np.array([0, 2, 1])
PLACES = np.array([0, 0, 1, 0, 1])
TWO_ZEROS = np.array([0.0, 0.0, 4.0, 5.0, 0.0])


def tensor(*shape: int) -> np.ndarray:
    return make(shape, FLOAT64, low=-1, high=1)


def _scattered(self: Any, src: Any, reduce: str) -> Any:
    return aten.scatter(self, 0, opwright.from_numpy(ROWS), src, reduce=reduce)


def _margins(scores: Any) -> Any:
    labels = opwright.from_numpy(np.array([[0, 2, -1, 1]] * 3))
    return aten.multilabel_margin_loss_forward(scores, labels, 1)[0]


def _beyond(factors: Any) -> Any:
    """The projection on what the first two singular vectors leave: each vector by itself may turn."""
    U, _, Vh = factors
    rest = U[:, 2:] if U.shape[0] > 2 else Vh[2:].mT
    return rest @ rest.mT


ENDS = (np.array(0.3), np.array(2.0))
SINGULAR = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]])
CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "linspace": (lambda start, end: aten.linspace(start, end, 5, dtype=opwright.float64), ENDS),
    "linspace, one end": (lambda end: aten.linspace(0.5, end, 5, dtype=opwright.float64), ENDS[:1]),
    "linspace, one number": (lambda start, end: aten.linspace(start, end, 1, dtype=opwright.float64), ENDS),
    "logspace": (lambda start, end: aten.logspace(start, end, 5, dtype=opwright.float64), ENDS),
    "logspace, one end": (lambda start: aten.logspace(start, 1.5, 5, 2.0, dtype=opwright.float64), ENDS[:1]),
    "scatter, add": (lambda x, y: _scattered(x, y, "add"), (tensor(3, 4), tensor(2, 4))),
    "scatter, multiply": (lambda x, y: _scattered(x, y, "multiply"), (tensor(3, 4), tensor(2, 4))),
    "scatter a number, add": (lambda x: _scattered(x, 2.5, "add"), (tensor(3, 4),)),
    "scatter a number, multiply": (lambda x: _scattered(x, 2.5, "multiply"), (tensor(3, 4),)),
    "scatter_reduce, zeros in one place": (
        lambda x, y: aten.scatter_reduce(x, 0, opwright.from_numpy(PLACES), y, "prod"),
        (np.array([2.0, 3.0]), TWO_ZEROS),
    ),
    "scatter_reduce, a zero in self, too": (
        lambda x, y: aten.scatter_reduce(x, 0, opwright.from_numpy(PLACES), y, "prod"),
        (np.array([0.0, 3.0]), TWO_ZEROS),
    ),
    "index_reduce, zeros in one place": (
        lambda x, y: aten.index_reduce(x, 0, opwright.from_numpy(PLACES), y, "prod", include_self=False),
        (np.array([2.0, 3.0, 1.0]), TWO_ZEROS),
    ),
    "remainder.Scalar_Tensor": (lambda x: aten.remainder(3.0, x), (tensor(5) + 2,)),
    "_cdist_forward, p = 2": (lambda x, y: aten._cdist_forward(x, y, 2.0, None), (tensor(3, 4), tensor(2, 4))),
    "_cdist_forward, p = 1.5": (lambda x, y: aten._cdist_forward(x, y, 1.5, None), (tensor(3, 4), tensor(2, 4))),
    "_cdist_forward, p = 3": (lambda x, y: aten._cdist_forward(x, y, 3.0, None), (tensor(3, 4), tensor(2, 4))),
    "multi_margin_loss": (lambda x: aten.multi_margin_loss(x, opwright.from_numpy(CLASSES), 2), (tensor(3, 4),)),
    "multilabel_margin_loss": (_margins, (tensor(3, 4),)),
    # Far from singular: second differences of an inverse lose the digits that its condition takes, cubed.
    "cholesky_inverse": (lambda x: aten.cholesky_inverse(aten.tril(x) + 4 * opwright.eye(3)), (tensor(3, 3),)),
    "cholesky_solve": (
        lambda x, y: aten.cholesky_solve(y, aten.tril(x) + 4 * opwright.eye(3)),
        (tensor(3, 3), tensor(3, 2)),
    ),
    "as_strided_scatter": (lambda x: aten.as_strided_scatter(x, x[0] * 2, [4], [1], 2), (tensor(3, 4),)),
    "det, singular": (lambda x: aten.linalg_det(x), (SINGULAR,)),
    "lgamma": (lambda x: aten.lgamma(x), (tensor(4) + 2,)),
    "digamma": (lambda x: aten.digamma(x), (tensor(4) + 2,)),
    "polygamma": (lambda x: aten.polygamma(1, x), (tensor(4) + 2,)),
    **{
        f"special_{name}": (
            lambda x, name=name: getattr(aten, f"special_{name}")(x),
            (np.array([0.01, 0.7, 1.5, 6.0]),),
        )
        for name in (
            "bessel_j0",
            "bessel_j1",
            "bessel_y0",
            "bessel_y1",
            "modified_bessel_i0",
            "modified_bessel_i1",
            "modified_bessel_k0",
            "modified_bessel_k1",
        )
    },
    "sinc at 0": (lambda x: aten.sinc(x), (np.array([0.0, 1.5]),)),
    "cumprod with zeros": (lambda x: aten.cumprod(x, 0), (np.array([1.0, 0.0, 2.0, 0.0, 3.0]),)),
    "prod with zeros": (lambda x: aten.prod(x), (np.array([0.0, 0.0, 2.0]),)),
    "singular values alone": (lambda x: aten.linalg_svdvals(x), (tensor(3, 2),)),
    "singular vectors beyond the reduced": (lambda x: _beyond(aten.linalg_svd(x)), (tensor(4, 2),)),
    "singular vectors beyond the reduced, wide": (lambda x: _beyond(aten.linalg_svd(x.mT)), (tensor(4, 2),)),
    "eigenvalues alone": (lambda x: aten.abs(aten.linalg_eigvals(x)), (tensor(3, 3),)),
    "Hermitian eigenvalues alone": (lambda x: aten.linalg_eigvalsh(x + x.mT), (tensor(3, 3),)),
}


@pytest.mark.parametrize("name", CASES)
def test_finite_differences(name: str) -> None:
    function, arrays = CASES[name]
    inputs = tuple(opwright.from_numpy(array.copy()).requires_grad_() for array in arrays)
    assert gradcheck(function, inputs, check_forward_ad=True)
    assert gradgradcheck(function, inputs)
