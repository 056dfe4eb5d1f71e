"""Backward functions of embeddings, normalisation and attention, and of backward operators of softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.autograd.quick import is_array_alone
from opwright_kernels.composites import backward_norms
from opwright_kernels.composites.attention import attention_slopes, attention_tangent
from opwright_kernels.gradients.reductions import add_gradients

Tensor = Any
Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]
aten = opwright.ops.aten


# Softmax


def softmax_gradient_backward(grad: Tensor, grad_output: Tensor, dim: int, output: Tensor) -> Tensor:
    """Return the gradient of the weights that `_softmax_backward_data` was given."""
    along, total = aten.sum(output * grad_output, [dim], True), aten.sum(output * grad, [dim], True)
    return grad_output * grad - along * grad - grad_output * total


def softmax_gradient_forward(grad_t: Tensor, output_t: Tensor, grad_output: Tensor, output: Tensor, dim: int) -> Tensor:
    """Return the tangent of `_softmax_backward_data`."""
    weighted, moved = grad_output * output, grad_output * output_t + grad_t * output
    return moved - output_t * aten.sum(weighted, [dim], True) - output * aten.sum(moved, [dim], True)


def log_softmax_gradient_forward(
    grad_t: Tensor, output_t: Tensor, grad_output: Tensor, output: Tensor, dim: int
) -> Tensor:
    """Return the tangent of `_log_softmax_backward_data`."""
    weights = aten.exp(output)
    bent = output_t * weights * aten.sum(grad_output, [dim], True)
    return grad_t - bent - weights * aten.sum(grad_t, [dim], True)


# Embeddings


def embedding_gradient_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """Return the gradient of the rows that `embedding_dense_backward` was given."""
    flat, along = aten.reshape(indices, [-1]), [*indices.shape, *[1] * (grad.ndim - 1)]
    found = aten.reshape(aten.index_select(grad, 0, flat), [*indices.shape, *grad.shape[1:]])
    if scale_grad_by_freq:
        found = found / aten.reshape(frequencies(grad, flat, num_weights), along)
    if padding_idx >= 0:
        found = aten.where(aten.reshape(indices != padding_idx, along), found, 0)
    return found


def frequencies(like: Tensor, indices: Tensor, count: int) -> Tensor:
    """Return how often each of the indices, a vector, is there."""
    ones = aten.new_ones(like, indices.shape)
    return aten.index_select(aten.index_add(aten.new_zeros(like, [count]), 0, indices, ones), 0, indices)


# Normalisation


def statistics(input: Tensor, dims: Sequence[int], eps: float, dtype: Any) -> tuple[Tensor, Tensor]:
    """Return the mean and the inverse deviation again, with a history of their own: those that the forward call gives
    out have none, which would make them constants in a second derivative."""
    input = aten.to(input, dtype)
    mean = aten.mean(input, dims, True)
    distance = input - mean
    return mean, aten.rsqrt(aten.mean(distance * distance, dims, True) + eps)


def _normalized_backward(scaled: Tensor, centred: Tensor, rstd: Tensor, dims: Sequence[int]) -> Tensor:
    """Return the gradient of (x - mean) * rstd, given that of its value and `centred`, that value."""
    mean = aten.mean(scaled, dims, True)
    along = aten.mean(scaled * centred, dims, True)
    return (scaled - mean - centred * along) * rstd


def group_norm_backward(
    grads: Sequence[Tensor | None],
    input: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    N: int,
    C: int,
    HxW: int,
    group: int,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of input, weight and bias, from those of the result, the means and inverse deviations: these
    two have a history, so that what is to be differentiated again is made of operators."""
    if grads[0] is not None and grads[1] is None and grads[2] is None and not opwright.is_grad_enabled():
        norms: Any = backward_norms if is_array_alone(grads[0]) else aten
        found: Gradients = norms.native_group_norm_backward(grads[0], input, mean, rstd, weight, N, C, HxW, group, mask)
        return found
    inner, outer = [N, group, C // group, HxW], [N, group, 1, 1]
    rstd = aten.reshape(rstd, outer)
    centred = (aten.reshape(input, inner) - aten.reshape(mean, outer)) * rstd
    grad, of_mean, of_rstd = grads
    of_input = of_weight = of_bias = None
    if grad is not None:
        values = aten.reshape(grad, inner)
        scaled = values if weight is None else values * aten.reshape(weight, [1, group, C // group, 1])
        of_input = _normalized_backward(scaled, centred, rstd, (2, 3)) if mask[0] else None
        of_weight = aten.reshape(aten.sum(values * centred, [0, 3]), [C]) if mask[1] else None
        of_bias = aten.reshape(aten.sum(values, [0, 3]), [C]) if mask[2] else None
    count = C // group * HxW
    if mask[0] and of_mean is not None:
        of_input = add_gradients(of_input, (aten.reshape(of_mean, outer) / count).expand(inner))
    if mask[0] and of_rstd is not None:
        of_input = add_gradients(of_input, -centred * rstd * rstd * (aten.reshape(of_rstd, outer) / count))
    return None if of_input is None else aten.reshape(of_input, input.shape), of_weight, of_bias


# Attention


def attention_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    logsumexp: Tensor,
    is_causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of query, key and value; where a further gradient may be asked for, by operators that have
    one."""
    if opwright.is_grad_enabled():
        return attention_slopes(grad, query, key, value, is_causal, attn_mask, scale)
    operator = aten._scaled_dot_product_flash_attention_for_cpu_backward
    return operator(grad, query, key, value, output, logsumexp, 0.0, is_causal, attn_mask=attn_mask, scale=scale)


def attention_forward(
    query_t: Tensor,
    key_t: Tensor,
    value_t: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
) -> Tensor:
    """Return the tangent of the attention."""
    return attention_tangent((query_t, key_t, value_t), query, key, value, is_causal, attn_mask, scale)
