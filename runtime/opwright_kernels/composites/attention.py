"""Attention: softmax(query @ key.T * scale + mask) @ value."""

from __future__ import annotations

from typing import Any

import numpy as np

import opwright
from opwright.autograd.quick import is_fast_path
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import REDUCED, as_dtype, bool_, float32
from opwright_core.tensors.tensor import wrap
from opwright_kernels.layers.attention import attention
from opwright_kernels.layers.normalization import safe_softmax
from opwright_kernels.plain import arrays_of

Operand = Any


def _safe_softmax(self: Operand, dim: int, dtype: Any) -> Operand:
    """Return `softmax`, and 0 where all along `dim` is -infinity. Raises RuntimeError for complex numbers."""
    if self.is_complex():
        raise RuntimeError("_safe_softmax: complex numbers have no -infinity, self must be real")
    found = arrays_of(self) if dtype is None else None
    if found is not None and -found[0].ndim <= dim < found[0].ndim:
        return wrap(safe_softmax(found[0], dim))
    aten = opwright.ops.aten
    nothing = aten.all(aten.eq(self, float("-inf")), dim, True)
    return aten.masked_fill(aten.softmax(self, dim, dtype), nothing, 0.0)


def scaled_dot_product_attention(
    query: Operand,
    key: Operand,
    value: Operand,
    attn_mask: Operand | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Operand:
    """Return attention of (..., L, E) to (..., S, E), (..., S, V). A bool mask says what counts, another is added."""
    aten = opwright.ops.aten
    if dropout_p == 0 and not enable_gqa:
        found = _attention_of_arrays(query, key, value, attn_mask, is_causal, scale)
        if found is not None:
            return found
    _check_operands(query, key, value, attn_mask)
    mask = None if attn_mask is None else _as_bias(attn_mask, query)
    if mask is not None and is_causal:
        mask = aten.add(mask, _causal_bias(query, key))
        is_causal = False
    return aten._scaled_dot_product_attention_math(
        query, key, value, mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
    )[0]


def _attention_of_arrays(
    query: Operand, key: Operand, value: Operand, mask: Operand | None, is_causal: bool, scale: float | None
) -> Operand | None:
    """Return the attention of dense operands on the fast path: its steps are not recorded."""
    found = arrays_of(query, key, value, mask)
    if found is None:
        return None
    q, k, v, bias = found
    batch = q.shape[:-2]
    fits = (
        q.ndim > 1
        and k.shape[:-2] == batch == v.shape[:-2]
        and q.shape[-1] == k.shape[-1]
        and k.shape[-2:-1] == v.shape[-2:-1]
    )
    if not fits or not (q.size and k.size and v.size) or (bias is not None and (is_causal or bias.dtype != q.dtype)):
        return None
    if is_causal:
        bias = np.triu(np.full((q.shape[-2], k.shape[-2]), -np.inf, q.dtype), 1)
    elif bias is not None and layouts.broadcast_shapes([bias.shape, (*batch, q.shape[-2], k.shape[-2])])[:-2] != batch:
        return None
    return wrap(attention(q, k, v, bias, q.shape[-1] ** -0.5 if scale is None else scale))


def _check_operands(query: Operand, key: Operand, value: Operand, mask: Operand | None) -> None:
    dtype = as_dtype(query.dtype)
    if not dtype == as_dtype(key.dtype) == as_dtype(value.dtype):
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, "
            f"but got {query.dtype}, {key.dtype} and {value.dtype}"
        )
    if any(len(each.shape) < 2 for each in (query, key, value)):
        raise RuntimeError(
            "Expected query, key, and value to be at least 2 dimensional, but got sizes "
            f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        )
    if mask is not None and as_dtype(mask.dtype) not in (bool_, float32, dtype):
        raise RuntimeError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got {mask.dtype} and {dtype}"
        )


def _as_bias(mask: Operand, query: Operand) -> Operand:
    if as_dtype(mask.dtype) != bool_:
        return mask
    aten = opwright.ops.aten
    bias = aten.zeros_like(mask, dtype=as_dtype(query.dtype))
    return aten.masked_fill_(bias, aten.logical_not(mask), float("-inf"))


def _causal_bias(query: Operand, key: Operand) -> Operand:
    """Return 0 up to each position, -infinity behind it."""
    aten = opwright.ops.aten
    positions = aten.new_full(query, [query.shape[-2], key.shape[-2]], float("-inf"))
    return aten.triu(positions, 1)


def _scaled_dot_product_attention_math(
    query: Operand,
    key: Operand,
    value: Operand,
    attn_mask: Operand | None,
    dropout_p: float,
    is_causal: bool,
    dropout_mask: Operand | None,
    scale: float | None,
    enable_gqa: bool,
) -> tuple[Operand, Operand]:
    """Return the attention and its weights; half and bfloat16 are computed in float32. `attn_mask` is added."""
    aten = opwright.ops.aten
    if is_causal and attn_mask is not None:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    given = as_dtype(query.dtype)
    if given in REDUCED:
        query, key, value = (aten.to(each, float32) for each in (query, key, value))
        attn_mask = None if attn_mask is None else aten.to(attn_mask, float32)
    if enable_gqa:
        key, value = _repeated(key, query), _repeated(value, query)
    weights = _weights(query, key, scale)
    bias = _causal_bias(query, key) if is_causal else attn_mask
    if bias is not None:
        weights = aten.add(weights, bias)
    weights = aten._safe_softmax(weights, -1)
    used = weights
    if dropout_mask is not None:
        used, value = (
            aten.masked_fill(weights, aten.logical_not(dropout_mask), 0.0),
            aten.mul(value, 1 / (1 - dropout_p)),
        )
    elif dropout_p > 0:
        used = aten.dropout(weights, dropout_p, True)
    result = aten.matmul(used, value)
    # (both may be of another dtype: half is computed in float32, and autocast chooses for each operator)
    result, used = (each if as_dtype(each.dtype) is given else aten.to(each, given) for each in (result, used))
    return result, used


def _weights(query: Operand, key: Operand, scale: float | None) -> Operand:
    """Return the scaled products of each query and each key. Half of the scale goes to each factor, so that no product
    overflows; all of it to one where it is small and on the fast path."""
    aten = opwright.ops.aten
    turned = aten.transpose(key, -2, -1)
    if scale is None and query.shape[-1] and is_fast_path(query, key):
        return aten.matmul(aten.mul(query, query.shape[-1] ** -0.5), turned)
    root = query.shape[-1] ** -0.25 if scale is None else abs(scale) ** 0.5
    scaled = aten.mul(query, -root if scale is not None and scale < 0 else root)
    return aten.matmul(scaled, aten.mul(turned, root))


def _repeated(heads: Operand, query: Operand) -> Operand:
    """Return each head as often as it takes to have as many as the query."""
    aten = opwright.ops.aten
    if len(query.shape) < 3 or len(heads.shape) < 3 or query.shape[-3] % heads.shape[-3] != 0:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query, "
            f"but got sizes {list(heads.shape)} and {list(query.shape)}"
        )
    times = query.shape[-3] // heads.shape[-3]
    *before, count, length, width = heads.shape
    repeated = aten.expand(aten.unsqueeze(heads, -3), [*before, count, times, length, width])
    return aten.reshape(repeated, [*before, count * times, length, width])
