"""Attention: softmax(query @ key.T * scale + mask) @ value."""

from __future__ import annotations

from typing import Any

import numpy as np

import opwright
from opwright.autograd.quick import is_fast_path
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import REDUCED, as_dtype, bool_, float32, float64
from opwright_core.tensors.tensor import wrap
from opwright_kernels.layers.attention import attention, attention_gradients
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
    if dropout_p == 0 and is_fast_path(query, key, value):
        keys, values = (_repeated(each, query) if enable_gqa else each for each in (key, value))
        if _is_for_flash(query, keys, values, mask):
            operator = aten._scaled_dot_product_flash_attention_for_cpu
            return operator(query, keys, values, 0.0, is_causal, attn_mask=mask, scale=scale)[0]
    return aten._scaled_dot_product_attention_math(
        query, key, value, mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
    )[0]


def _attention_of_arrays(
    query: Operand, key: Operand, value: Operand, mask: Operand | None, is_causal: bool, scale: float | None
) -> Operand | None:
    """Return the attention of dense operands on the fast path: its steps are not recorded."""
    found = arrays_of(query, key, value, mask)
    if found is None or found[0].ndim < 2 or not _are_alike(found[0], found[1], found[2]):
        return None
    q, k, v, bias = found
    if bias is not None:
        shape = (*q.shape[:-1], k.shape[-2])
        if is_causal or layouts.broadcast_shapes([bias.shape, shape]) != shape:
            return None
        bias = np.broadcast_to(bias, shape)
    return wrap(attention(q, k, v, bias, is_causal, scale_of(query, scale))[0])


def _is_for_flash(query: Operand, key: Operand, value: Operand, mask: Operand | None) -> bool:
    """Whether PyTorch computes attention of such operands in one operator: four dimensions, one width, elements, and a
    mask that is not learned."""
    shapes = [query.shape, key.shape, value.shape]
    return (
        as_dtype(query.dtype) in (float32, float64)
        and all(len(shape) == 4 and shape[:2] == query.shape[:2] and 0 not in shape for shape in shapes)
        and len({shape[3] for shape in shapes}) == 1
        and key.shape == value.shape
        and (mask is None or (is_fast_path(mask) and not mask.requires_grad and mask.dtype == query.dtype))
    )


def flash_attention(
    query: Operand,
    key: Operand,
    value: Operand,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Operand | None,
    scale: float | None,
) -> tuple[Operand, Operand]:
    """Return the attention, and the logarithms of the sums of exponentials."""
    _check_flash(query, dropout_p)
    found = arrays_of(query, key, value, attn_mask)
    if found is not None and _are_alike(found[0], found[1], found[2]):
        q, k, v, mask = found
        result, logs = attention(q, k, v, _bias_of(q, k, mask), is_causal, scale_of(query, scale))
        return wrap(result), wrap(logs)
    aten = opwright.ops.aten
    products = _biased(query, key, is_causal, attn_mask, scale)
    logs = aten.logsumexp(products, -1, False)
    result = aten.matmul(aten._safe_softmax(products, -1), value)
    is_nothing = aten.eq(logs, float("-inf"))
    return result, aten.masked_fill(logs, is_nothing, float("inf"))


def flash_attention_backward(
    grad_out: Operand,
    query: Operand,
    key: Operand,
    value: Operand,
    out: Operand,
    logsumexp: Operand,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Operand | None,
    scale: float | None,
) -> tuple[Operand, Operand, Operand]:
    """Return the gradients of query, key and value, each laid out as its operand."""
    _check_flash(query, dropout_p)
    found = arrays_of(grad_out, query, key, value, out, logsumexp, attn_mask)
    if found is not None and _are_alike(found[1], found[2], found[3]):
        grad, q, k, v, result, logs, mask = found
        made = attention_gradients(grad, q, k, v, result, logs, _bias_of(q, k, mask), is_causal, scale_of(query, scale))
        return wrap(made[0]), wrap(made[1]), wrap(made[2])
    aten = opwright.ops.aten
    products = _biased(query, key, is_causal, attn_mask, scale)
    weights = aten.exp(aten.sub(products, aten.unsqueeze(logsumexp, -1)))
    whole = aten.sum(aten.mul(grad_out, out), [-1], True)
    of_query, of_key, of_value = _slopes(grad_out, query, key, value, weights, whole, scale)
    return _lying(of_query, query), _lying(of_key, key), _lying(of_value, value)


def attention_slopes(
    grad: Operand,
    query: Operand,
    key: Operand,
    value: Operand,
    is_causal: bool,
    attn_mask: Operand | None,
    scale: float | None,
) -> tuple[Operand, Operand, Operand]:
    """Return the gradients of query, key and value by operators that have gradients."""
    aten = opwright.ops.aten
    weights = aten._safe_softmax(_biased(query, key, is_causal, attn_mask, scale), -1)
    whole = aten.sum(aten.mul(weights, aten.matmul(grad, aten.transpose(value, -2, -1))), [-1], True)
    return _slopes(grad, query, key, value, weights, whole, scale)


def attention_tangent(
    tangents: tuple[Operand, Operand, Operand],
    query: Operand,
    key: Operand,
    value: Operand,
    is_causal: bool,
    attn_mask: Operand | None,
    scale: float | None,
) -> Operand:
    """Return the tangent of the attention, of those of query, key and value."""
    aten = opwright.ops.aten
    of_query, of_key, of_value = tangents
    weights = aten._safe_softmax(_biased(query, key, is_causal, attn_mask, scale), -1)
    moved = aten.matmul(of_query, aten.transpose(key, -2, -1)) + aten.matmul(query, aten.transpose(of_key, -2, -1))
    moved = aten.mul(aten.mul(moved, scale_of(query, scale)), weights)
    moved = moved - weights * aten.sum(moved, [-1], True)
    return aten.matmul(moved, value) + aten.matmul(weights, of_value)


def _slopes(
    grad: Operand,
    query: Operand,
    key: Operand,
    value: Operand,
    weights: Operand,
    whole: Operand,
    scale: float | None,
) -> tuple[Operand, Operand, Operand]:
    """Return the gradients of query, key and value, of weights and of what each row's slopes come to altogether."""
    aten = opwright.ops.aten
    of_weights = aten.matmul(grad, aten.transpose(value, -2, -1))
    slopes = aten.mul(aten.mul(weights, aten.sub(of_weights, whole)), scale_of(query, scale))
    of_key = aten.matmul(aten.transpose(slopes, -2, -1), query)
    return aten.matmul(slopes, key), of_key, aten.matmul(aten.transpose(weights, -2, -1), grad)


def scale_of(query: Operand, scale: float | None) -> float:
    """Return what products are multiplied by."""
    return query.shape[-1] ** -0.5 if scale is None else scale


def _check_flash(query: Operand, dropout_p: float) -> None:
    if dropout_p != 0:
        raise RuntimeError(f"attention in one operator has no dropout, but got a dropout_p of {dropout_p}")
    if len(query.shape) != 4:
        raise RuntimeError(f"attention in one operator takes 4 dimensions, but got sizes {list(query.shape)}")


def _are_alike(query: Any, key: Any, value: Any) -> bool:
    """Whether arrays have one batch, sizes that fit, and elements."""
    return (
        query.shape[:-2] == key.shape[:-2] == value.shape[:-2]
        and key.shape[-2:] == (value.shape[-2], query.shape[-1])
        and bool(query.size and key.size and value.size)
    )


def _bias_of(query: Any, key: Any, mask: Any) -> Any:
    """Return a mask over all rows and columns, without a copy."""
    return None if mask is None else np.broadcast_to(mask, (*query.shape[:-1], key.shape[-2]))


def _biased(query: Operand, key: Operand, is_causal: bool, mask: Operand | None, scale: float | None) -> Operand:
    """Return the scaled products, and what is added to them."""
    aten = opwright.ops.aten
    products = _weights(query, key, scale)
    if is_causal:
        products = aten.add(products, _causal_bias(query, key))
    return products if mask is None else aten.add(products, mask)


def _lying(result: Operand, like: Operand) -> Operand:
    """Return a gradient as its operand lies: row-major, or with the rows of each matrix beside those of the next."""
    aten = opwright.ops.aten
    strides = like.stride()
    if strides[1] >= strides[2]:
        return aten.contiguous(result)
    return aten.transpose(aten.contiguous(aten.transpose(result, 1, 2)), 1, 2)


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
