"""Attention on arrays, some rows of one matrix at a time: the weights of all may be far larger than the result.
For the gradients they are made again, of the logarithms of their sums."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from opwright_core.core import compiled
from opwright_kernels.linalg.linear_algebra import matrix_product

Array = Any

_WEIGHTS_AT_ONCE = 1 << 17  # elements of the weights that are made at once


@compiled
def attention(
    query: Array, key: Array, value: Array, bias: Array | None, is_causal: bool, scale: float
) -> tuple[Array, Array]:
    """Return softmax(query @ key.mT * scale + bias) @ value for (..., L, E), (..., S, E), (..., S, V) and (..., L, S)
    of one batch, and the logarithms of the sums of exponentials; 0 and infinity for a row that looks at nothing."""
    result = np.empty((*query.shape[:-1], value.shape[-1]), query.dtype)
    logs = np.empty(query.shape[:-1], query.dtype)
    for at, rows in _parts(query, key):
        with np.errstate(all="ignore"):
            products = _products(query, key, bias, at, rows, is_causal, scale)
            most = products.max(axis=-1, keepdims=True)
            most[most == -np.inf] = 0
            weights = np.exp(np.subtract(products, most, out=products), out=products)
            total = weights.sum(axis=-1, keepdims=True)
            is_nothing = total == 0
            logs[at][..., rows] = np.where(is_nothing, np.inf, most + np.log(total))[..., 0]
            total[is_nothing] = 1
            result[at][..., rows, :] = matrix_product(np, weights, value[at]) / total
    return result, logs


@compiled
def attention_gradients(
    grad: Array,
    query: Array,
    key: Array,
    value: Array,
    result: Array,
    logarithms: Array,
    bias: Array | None,
    is_causal: bool,
    scale: float,
) -> tuple[Array, Array, Array]:
    """Return the gradients of query, key and value."""
    of_query, of_key, of_value = _new_lying(query), _new_lying(key), _new_lying(value)
    of_key[...] = 0
    of_value[...] = 0
    for at, rows in _parts(query, key):
        slope, given, found = (each[at][..., rows, :] for each in (grad, query, result))
        with np.errstate(all="ignore"):
            weights = _products(query, key, bias, at, rows, is_causal, scale)
            np.exp(np.subtract(weights, logarithms[at][..., rows, None], out=weights), out=weights)
            if is_causal:
                np.copyto(weights, 0, where=_unseen(weights, rows))
            of_value[at] += matrix_product(np, weights.swapaxes(-1, -2), slope)
            slopes = matrix_product(np, slope, value[at].swapaxes(-1, -2))
            slopes -= (slope * found).sum(axis=-1, keepdims=True)
            slopes *= weights
            slopes *= slopes.dtype.type(scale)
            of_query[at][..., rows, :] = matrix_product(np, slopes, key[at])
            of_key[at] += matrix_product(np, slopes.swapaxes(-1, -2), given)
    return of_query, of_key, of_value


def _new_lying(like: Array) -> Array:
    """Return a new array like an operand: row-major, or with the rows of each matrix beside those of the next, as heads
    lie in what they are the parts of."""
    if like.ndim < 3 or like.strides[-3] >= like.strides[-2]:
        return np.empty(like.shape, like.dtype)
    *batch, heads, rows, columns = like.shape
    return np.empty((*batch, rows, heads, columns), like.dtype).swapaxes(-2, -3)


def _parts(query: Array, key: Array) -> Iterator[tuple[tuple[int, ...], slice]]:
    """Yield a position in the batch, and some rows of the queries there: all at once where these are few."""
    batch, rows, columns = query.shape[:-2], query.shape[-2], key.shape[-2]
    if prod(batch) * rows * columns <= _WEIGHTS_AT_ONCE:
        yield (), slice(0, rows)
        return
    step = max(1, _WEIGHTS_AT_ONCE // max(1, columns))
    for position in np.ndindex(*batch):
        for start in range(0, rows, step):
            yield position, slice(start, min(start + step, rows))


def _products(
    query: Array, key: Array, bias: Array | None, at: tuple[int, ...], rows: slice, is_causal: bool, scale: float
) -> Array:
    """Return what weights of some rows are made of: -infinity where nothing is looked at."""
    queries = query[at][..., rows, :]
    products = matrix_product(np, queries * queries.dtype.type(scale), key[at].swapaxes(-1, -2))
    if bias is not None:
        products += bias[at][..., rows, :]
    if is_causal:
        np.copyto(products, -np.inf, where=_unseen(products, rows))
    return products


def _unseen(products: Array, rows: slice) -> Array:
    """Return where a row, of those of a slice, looks at nothing: at columns after its own."""
    return ~np.tri(products.shape[-2], products.shape[-1], rows.start, dtype=bool)
