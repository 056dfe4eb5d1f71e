"""Distances and lengths of vectors."""

from __future__ import annotations

import opwright
from opwright.nn.annotations import A

__all__ = [
    "cosine_similarity",
    "normalize",
    "pairwise_distance",
]


def cosine_similarity(x1: A, x2: A, dim: int = 1, eps: float = 1e-8) -> A:
    """Return the cosine of the angle between vectors along `dim`, whose lengths are held above `eps`."""
    return opwright.cosine_similarity(x1, x2, dim, eps)


def pairwise_distance(x1: A, x2: A, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> A:
    """Return the p-norm of x1 - x2 + eps along the last dimension."""
    return opwright.pairwise_distance(x1, x2, p, eps, keepdim)


def normalize(input: A, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: A | None = None) -> A:
    """Return `input` divided by its p-norm along `dim`, which is held above `eps`."""
    length = opwright.clamp(opwright.norm(input, p, dim, True), min=eps)
    return opwright.div(input, length) if out is None else opwright.div(input, length, out=out)
