"""Kernels: plain functions on arrays."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def huber(self: Array, target: Array, delta: float) -> Array:
    """Squared up to `delta`, linear beyond: outliers pull with a bounded force."""
    size = np.abs(self - target)
    return np.where(size <= delta, size * size / 2, delta * (size - delta / 2)).astype(self.dtype)


def scaled_rows(self: Array, weight: Array, eps: float) -> tuple[Array, Array]:
    """Rows of length 1, times `weight`; and how long they were."""
    length = np.sqrt((self * self).sum(-1, keepdims=True) + eps)
    return self / length * weight, length


def blend(tensors: Sequence[Array], weights: Sequence[Array]) -> Array:
    """A sum of arrays with weights."""
    total: Array = sum(weight * tensor for weight, tensor in zip(weights, tensors, strict=True))  # type: ignore[assignment]
    return total
