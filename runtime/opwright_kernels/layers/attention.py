"""Attention on arrays, some matrices at a time: the weights of all together may be far larger than the result."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from opwright_kernels.layers.normalization import safe_softmax
from opwright_kernels.linalg.linear_algebra import matrix_product

Array = Any

_WEIGHTS_AT_ONCE = 1 << 17  # elements of the weights that are made at once


def attention(query: Array, key: Array, value: Array, bias: Array | None, scale: float) -> Array:
    """Return softmax(query @ key.T * scale + bias) @ value for (..., L, E), (..., S, E) and (..., S, V) of one batch; 0
    where all of a row of the bias is -infinity."""
    batch, rows, columns = query.shape[:-2], query.shape[-2], key.shape[-2]
    if prod(batch) * rows * columns <= _WEIGHTS_AT_ONCE:
        return _attention(query, key, value, bias, scale)
    result = np.empty((*batch, rows, value.shape[-1]), query.dtype)
    biases = None if bias is None else np.broadcast_to(bias, (*batch, rows, columns))
    step = max(1, _WEIGHTS_AT_ONCE // max(1, columns))
    for position in np.ndindex(*batch):
        for start in range(0, rows, step):
            part = slice(start, start + step)
            shift = None if biases is None else biases[position][part]
            result[position][part] = _attention(query[position][part], key[position], value[position], shift, scale)
    return result


def _attention(query: Array, key: Array, value: Array, bias: Array | None, scale: float) -> Array:
    weights = matrix_product(np, query * query.dtype.type(scale), key.swapaxes(-1, -2))
    if bias is not None:
        weights += bias
    return matrix_product(np, safe_softmax(weights, -1), value)
