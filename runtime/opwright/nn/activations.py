"""Activations of Tensors and plain arrays."""

from __future__ import annotations

import warnings

from numpy.typing import DTypeLike

import opwright
from opwright.nn.annotations import A

__all__ = [
    "gumbel_softmax",
    "hardtanh",
    "log_softmax",
    "softmax",
    "softmin",
    "softsign",
    "tanhshrink",
]


def hardtanh(input: A, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> A:
    """Return `input` clipped to [min_val, max_val]. Raises ValueError if `min_val` is greater than `max_val`."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return opwright.hardtanh_(input, min_val, max_val)
    return opwright.hardtanh(input, min_val, max_val)


def tanhshrink(input: A) -> A:
    """Return input - tanh(input)."""
    return opwright.sub(input, opwright.tanh(input))


def softsign(input: A) -> A:
    """Return input / (1 + |input|)."""
    return opwright.div(input, opwright.add(opwright.abs(input), 1))


def softmax(input: A, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> A:
    """Return exp(input) divided by its sum along `dim`, computed in `dtype` if it is given."""
    return opwright.softmax(input, _dim("softmax", input, dim, _stacklevel), dtype)


def softmin(input: A, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> A:
    """Return `softmax` of -input."""
    return opwright.softmax(opwright.neg(input), _dim("softmin", input, dim, _stacklevel), dtype)


def log_softmax(input: A, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> A:
    """Return log(softmax(input)), accurate also if softmax underflows."""
    return opwright.log_softmax(input, _dim("log_softmax", input, dim, _stacklevel), dtype)


def _dim(name: str, input: A, dim: int | None, stacklevel: int) -> int:
    if dim is not None:
        return dim
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated; pass dim", stacklevel=stacklevel)
    return 0 if len(input.shape) in (0, 1, 3) else 1


def gumbel_softmax(logits: A, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> A:
    """Return a sample of a categorical distribution, softened by the temperature `tau`. It is one-hot if `hard`."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    aten = opwright.ops.aten
    drawn = aten.exponential_(aten.empty_like(logits, memory_format=opwright.contiguous_format))
    noisy = opwright.div(opwright.sub(logits, opwright.log(drawn)), tau)
    soft: A = opwright.softmax(noisy, dim)
    if not hard:
        return soft
    chosen = opwright.argmax(soft, dim, True)
    points = aten.zeros_like(logits, memory_format=opwright.contiguous_format)
    return opwright.add(opwright.sub(opwright.scatter(points, dim, chosen, 1.0), soft), soft)
