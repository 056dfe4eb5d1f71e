"""Exponentials of matrices: a series for a matrix that is halved until it is small, squared as often."""

from __future__ import annotations

from math import factorial
from types import ModuleType
from typing import Any

import numpy as np

Array = Any

_NORMS = {4: 2.0, 8: 0.75}  # by the bytes of a real part: up to which so many terms are exact to the last digit
_STEPS = 4  # powers that are computed, and groups of as many terms


def matrix_exponential(xp: ModuleType, self: Array) -> Array:
    """Return the exponentials of square matrices; NaN for what is not finite (`linalg_matrix_exp`)."""
    if not self.size:
        return xp.zeros(self.shape, self.dtype)
    norms = xp.abs(self).sum(axis=-2).max(axis=-1)
    halvings = xp.ceil(xp.log2(xp.maximum(norms / _NORMS[norms.itemsize], 1)))
    # A matrix that overflows whatever is done with it needs no more halvings than there are exponents.
    halvings = xp.where(xp.isfinite(halvings), xp.minimum(halvings, 1100), 0)[..., None, None]
    result = _series(xp, self * xp.exp2(-halvings).astype(norms.dtype))
    for step in range(int(halvings.max())):
        result = xp.where(step < halvings, result @ result, result)
    return xp.where(xp.isfinite(norms)[..., None, None], result, self.dtype.type(np.nan))


def _series(xp: ModuleType, A: Array) -> Array:
    """Return Taylor's polynomial, group by group of powers of A (Paterson and Stockmeyer)."""
    powers = [xp.broadcast_to(xp.eye(A.shape[-1], dtype=A.dtype), A.shape), A]
    for _ in range(_STEPS - 1):
        powers.append(powers[-1] @ A)
    result = powers[0] * A.dtype.type(1 / factorial(_STEPS * _STEPS))
    for group in reversed(range(_STEPS)):
        terms = (
            powers[position] * A.dtype.type(1 / factorial(group * _STEPS + position)) for position in range(_STEPS)
        )
        result = result @ powers[_STEPS] + sum(terms)
    return result
