"""Softmax and layer normalisation. Arrays come in the dtype that is computed in."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

Array = Any


def softmax(xp: ModuleType, self: Array, dim: int, half_to_float: bool = False) -> Array:
    """exp(self) over its sum along `dim`, shifted by the maximum so that nothing overflows."""
    if not self.ndim or not self.size:
        return xp.ones_like(self)
    result = xp.subtract(self, self.max(axis=dim, keepdims=True))
    xp.exp(result, out=result)
    result /= result.sum(axis=dim, keepdims=True)
    return result


def log_softmax(xp: ModuleType, self: Array, dim: int, half_to_float: bool = False) -> Array:
    """The logarithm of `softmax`, without taking the logarithm of what has underflowed."""
    if not self.ndim or not self.size:
        return xp.zeros_like(self)
    result = xp.subtract(self, self.max(axis=dim, keepdims=True))
    result -= xp.log(xp.exp(result).sum(axis=dim, keepdims=True))
    return result


def layer_norm(
    xp: ModuleType, input: Array, normalized_shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """(input - mean) / sqrt(variance + eps) * weight + bias over the last dimensions; also the mean and the
    reciprocal deviation."""
    over = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    mean = input.mean(axis=over, keepdims=True)
    result = xp.subtract(input, mean)
    variance = xp.mean(xp.square(result), axis=over, keepdims=True)
    rstd = xp.reciprocal(xp.sqrt(variance + eps))
    result *= rstd
    if weight is not None:
        result *= weight
    if bias is not None:
        result += bias
    return result, mean, rstd
