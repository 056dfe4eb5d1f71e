"""Of decompositions into eigenvalues and singular values, of what is computed with factors, and of distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.dtypes import COMPLEX, as_dtype
from opwright.kernels.gradients.linear_algebra import gaps
from opwright.kernels.gradients.reductions import norm_backward

Tensor = Any
aten = opwright.ops.aten


def _triangle(matrix: Tensor, upper: bool) -> Tensor:
    return aten.triu(matrix) if upper else aten.tril(matrix)


def cholesky_inverse_backward(grad: Tensor, factor: Tensor, result: Tensor, upper: bool) -> Tensor:
    """The gradient of the inverse of L @ L^H (or U^H @ U), in the triangle that the factor is."""
    common = result @ ((grad + grad.mH) @ result)
    return _triangle(-factor @ common if upper else -common @ factor, upper)


def cholesky_solve_backward(
    grad: Tensor, factor: Tensor, result: Tensor, upper: bool, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the right side and of the factor."""
    of_right = aten.cholesky_solve(grad, factor, upper)
    if not mask[1]:
        return of_right, None
    common = of_right @ result.mH
    common = common + common.mH
    of_factor = _triangle(-factor @ common if upper else -common @ factor, upper)
    return of_right if mask[0] else None, of_factor


def distance_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    """The gradient of each difference of a row of `x1` and one of `x2`."""
    difference = aten.unsqueeze(x1, -2) - aten.unsqueeze(x2, -3)
    return norm_backward(grad, difference, p, result, -1, False)


def pinv_backward(grad: Tensor, A: Tensor, P: Tensor) -> Tensor:
    """-P^H g P^H + (1 - A P) g^H P P^H + P^H P g^H (1 - P A)."""
    first = grad.mH @ P
    second = P @ grad.mH
    of_rows = first @ P.mH
    of_columns = P.mH @ second
    return of_rows - A @ (P @ of_rows) + of_columns - (of_columns @ P) @ A - P.mH @ (grad @ P.mH)


def eig_backward(grad_values: Tensor | None, grad_vectors: Tensor | None, values: Tensor, vectors: Tensor) -> Any:
    """V^-H (diag(grad_values) + (V^H gV - V^H V Re(diag(V^H gV))) / conj(gaps)) V^H."""
    if grad_vectors is None:
        if grad_values is None:
            return None
        inner = aten.diag_embed(grad_values)
    else:
        inner = vectors.mH @ grad_vectors
        along = aten.real(aten.diagonal(inner, 0, -2, -1))
        inner = (inner - (vectors.mH @ vectors) * aten.unsqueeze(along, -2)) / aten.conj(gaps(values))
        inner = aten.tril(inner, -1) + aten.triu(inner, 1)
        if grad_values is not None:
            inner = inner + aten.diag_embed(grad_values)
    return aten._linalg_solve_ex(vectors.mH, inner @ vectors.mH)[0]


def svd_backward(
    grad_u: Tensor | None, grad_s: Tensor | None, grad_vh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor
) -> Tensor | None:
    """The gradient of the reduced factors; singular vectors need singular values that differ.

    U [(skew(U^H gU) / E) S + S (skew(V^H gV) / E) + diag(gS)] V^H, and what lies outside the spaces of U and V; where
    E is how far the square of one singular value is above that of another. Of full matrices, what is beyond the
    reduced ones is not unique, and has no gradient.
    """
    count = S.shape[-1]
    U, grad_u = (None if each is None else aten.narrow(each, -1, 0, count) for each in (U, grad_u))
    Vh, grad_vh = (None if each is None else aten.narrow(each, -2, 0, count) for each in (Vh, grad_vh))
    if grad_u is None and grad_vh is None:
        return None if grad_s is None else (U * aten.unsqueeze(grad_s, -2)) @ Vh
    E = gaps(S * S)
    rows, columns = aten.unsqueeze(S, -2), aten.unsqueeze(S, -1)
    inner: Any = 0
    if grad_u is not None:
        turn = U.mH @ grad_u
        turn = turn - turn.mH
        inner = turn / E * rows
        if as_dtype(turn.dtype) in COMPLEX:
            inner = inner - aten.diag_embed(aten.diagonal(inner, 0, -2, -1))
            inner = inner + aten.diag_embed(aten.diagonal(turn, 0, -2, -1) / (2 * S))
    if grad_vh is not None:
        turn = Vh @ grad_vh.mH
        turn = (turn - turn.mH) / E
        inner = inner + columns * (turn - aten.diag_embed(aten.diagonal(turn, 0, -2, -1)))
    if grad_s is not None:
        inner = inner + aten.diag_embed(grad_s)
    found = U @ inner
    if grad_u is not None and U.shape[-2] > count:
        outside = grad_u / rows
        found = found + outside - U @ (U.mH @ outside)
    found = found @ Vh
    if grad_vh is not None and Vh.shape[-1] > count:
        outside = grad_vh / columns
        found = found + U @ (outside - (outside @ Vh.mH) @ Vh)
    return found
