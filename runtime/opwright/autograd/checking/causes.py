"""Likely causes of a wrong Jacobian, each with the mistake that makes it so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from opwright.autograd.checking.options import Tolerances
from opwright.autograd.checking.problem import Table
from opwright_core.arrays.layouts import Shape

__all__ = ["likely_cause"]

Cause = tuple[str, Callable[[Table, Shape], Iterator[Table]]]


def likely_cause(analytical: Table, numerical: Table, shape: Shape, tolerances: Tolerances) -> str | None:
    """Return the mistake that would explain all of the analytical Jacobian, if one is known; `shape` is the input's."""
    if not np.isfinite(analytical).all():
        return "the derivative formula gives NaN or infinity here: a division by zero, or a log or root at its edge?"
    if not analytical.any():
        return "the formula gives no gradient for this input (None or zeros): was the input forgotten?"
    if tolerances.agree(np.zeros_like(numerical), numerical):
        return "the output does not move with this input: a step (rounding, a comparison), or a gradient too many?"
    for description, wrong in _CAUSES:
        if any(tolerances.agree(analytical, each) for each in wrong(numerical, shape)):
            return description
    return _factor(analytical, numerical, tolerances) or _elements(analytical, numerical, shape, tolerances)


def _negated(table: Table, shape: Shape) -> Iterator[Table]:
    yield -table


def _conjugated(table: Table, shape: Shape) -> Iterator[Table]:
    """Yield the Jacobian of a backward that multiplies by no conjugate of the derivative: conj(1j·a) is -1j·conj(a)."""
    if table.shape[2] == 2 or np.iscomplexobj(table):
        yield np.conj(table) * np.array([1, -1])[: table.shape[2]]


def _transposed(table: Table, shape: Shape) -> Iterator[Table]:
    """Yield the Jacobian itself, or the gradient as a matrix of the input's shape."""
    if table.shape[0] == table.shape[1]:
        yield table.transpose(1, 0, 2)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        as_matrices = table.reshape(*shape, *table.shape[1:])
        last = len(shape) - 1
        yield as_matrices.swapaxes(last, last - 1).reshape(table.shape)


_CAUSES: list[Cause] = [
    ("the sign: the formula gives minus the gradient, everywhere", _negated),
    ("a conjugate is missing, or there is one too many: the gradient of f is grad * f'.conj()", _conjugated),
    ("transposed: the formula gives the transpose (matrix.t() is missing, or there is one too many)", _transposed),
]


def _factor(analytical: Table, numerical: Table, tolerances: Tolerances) -> str | None:
    factor = np.vdot(numerical, analytical) / np.vdot(numerical, numerical)
    if not tolerances.agree(analytical, numerical * factor):
        return None
    return f"a factor: the formula gives {_plain(complex(factor))} times the gradient, everywhere"


def _plain(factor: complex) -> str:
    if abs(factor.imag) > 1e-6:
        return f"{factor:.4g}"
    value = factor.real
    for whole in (round(value), round(1 / value) if value else 0):
        if whole and math.isclose(value, whole, rel_tol=1e-3):
            return str(whole)
        if whole and math.isclose(value, 1 / whole, rel_tol=1e-3):
            return f"1/{whole}"
    return f"{value:.4g}"


def _elements(analytical: Table, numerical: Table, shape: Shape, tolerances: Tolerances) -> str | None:
    """Return where most elements of the input are right."""
    wrong = np.flatnonzero(tolerances.differ(analytical, numerical).any(axis=(1, 2)))
    if len(wrong) * 2 >= analytical.shape[0]:
        return None
    named = ", ".join(str([int(each) for each in np.unravel_index(index, shape)]) for index in wrong[:4])
    more = f" and {len(wrong) - 4} more" if len(wrong) > 4 else ""
    return f"only some elements of the input: {named}{more}; the others are right"
