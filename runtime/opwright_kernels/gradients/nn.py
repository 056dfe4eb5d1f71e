"""Backward functions of softmax, embeddings and normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.tensors.tensor import wrap
from opwright_kernels import backward
from opwright_kernels.gradients.reductions import add_gradients
from opwright_kernels.plain import dense_arrays

Tensor = Any
Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]
aten = opwright.ops.aten


# Softmax


def softmax_backward(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """Return the gradient less its mean under the result's weights, times these."""
    found = dense_arrays(grad, result)
    if found is not None and dim in (-1, result.ndim - 1) and result.ndim:
        return wrap(backward.softmax_gradient(found[0], found[1]))
    weighted = grad * result
    return weighted - result * aten.sum(weighted, [dim], True)


def log_softmax_backward(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """Return the gradient less its sum times the softmax."""
    found = dense_arrays(grad, result)
    if found is not None and dim in (-1, result.ndim - 1) and result.ndim:
        return wrap(backward.log_softmax_gradient(found[0], found[1]))
    return grad - aten.exp(result) * aten.sum(grad, [dim], True)


# Embeddings and normalisation


def embedding_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    """Return the gradient of `embedding`, dense whatever `sparse` says."""
    return embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


def embedding_dense_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """Return the gradients of all places that a row went to, added; over their number, if asked for."""
    flat = aten.reshape(indices, [-1])
    rows = aten.reshape(grad, [*flat.shape, *grad.shape[indices.ndim :]])
    if scale_grad_by_freq:
        counts = aten.bincount(flat, None, num_weights)
        rows = rows / aten.unsqueeze(aten.index_select(counts, 0, flat), -1)
    if padding_idx >= 0:
        rows = aten.where(aten.unsqueeze(flat != padding_idx, -1), rows, 0)
    return aten.index_add(aten.new_zeros(grad, [num_weights, *rows.shape[1:]]), 0, flat, rows)


def _added(input: Tensor, dims: Sequence[int], rstd: Tensor) -> Tensor:
    """Return what was added to the variance for its inverse root to be `rstd`, a constant."""
    variance = aten.var(aten.to(input, rstd.dtype), list(dims), correction=0, keepdim=True)
    return aten.detach(1 / (rstd * rstd) - variance)


def statistics(input: Tensor, dims: Sequence[int], eps: float | Tensor, dtype: Any) -> tuple[Tensor, Tensor]:
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


def _wrapped(arrays: Sequence[Any]) -> Gradients:
    of_input, of_weight, of_bias = (None if each is None else wrap(each) for each in arrays)
    return of_input, of_weight, of_bias


def native_layer_norm_backward(
    grad: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `native_layer_norm`, as the operator takes what they need."""
    return layer_norm_backward(grad, input, normalized_shape, weight, mean, rstd, None, mask)


def layer_norm_backward(
    grad: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    eps: float | None,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of input, weight and bias. What is to be differentiated again takes `eps` off the inverse
    deviation where it is not given."""
    outer = input.ndim - len(normalized_shape)
    arrays = dense_arrays(grad, input, weight, mean, rstd)
    if arrays is not None:
        given, x, w, means, rstds = arrays
        shape = tuple(normalized_shape)
        return _wrapped(backward.layer_norm_gradients(given, x, w, means, rstds, shape, tuple(mask)))
    if opwright.is_grad_enabled():
        dims = range(outer, input.ndim)
        mean, rstd = statistics(input, dims, _added(input, dims, rstd) if eps is None else eps, rstd.dtype)
    centred = (input - mean) * rstd
    scaled = grad if weight is None else grad * weight
    of_input = _normalized_backward(scaled, centred, rstd, range(outer, input.ndim)) if mask[0] else None
    first = list(range(outer))
    of_weight = (aten.sum(grad * centred, first) if first else grad * centred) if mask[1] else None
    of_bias = (aten.sum(grad, first) if first else grad) if mask[2] else None
    return of_input, of_weight, of_bias


def native_group_norm_backward(
    grad: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `native_group_norm`, as the operator takes what they need."""
    return group_norm_backward((grad, None, None), input, weight, mean, rstd, N, C, HxW, group, mask)


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
    """Return the gradients of input, weight and bias, from those of the result, the means and inverse deviations."""
    if grads[0] is not None and grads[1] is None and grads[2] is None:
        arrays = dense_arrays(grads[0], input, weight, mean, rstd)
        if arrays is not None:
            given, x, w, means, rstds = arrays
            sizes = (N, group, C // group, HxW)
            return _wrapped(backward.group_norm_gradients(given, x, w, means, rstds, sizes, tuple(mask)))
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


def native_batch_norm_backward(
    grad: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    training: bool,
    eps: float,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of input, weight and bias; without training the statistics are constants."""
    shape = [1, -1, *[1] * (input.ndim - 2)]
    dims = [place for place in range(input.ndim) if place != 1]
    if not training and running_mean is not None and running_var is not None:
        mean, rstd = running_mean, aten.rsqrt(running_var + eps)
    elif opwright.is_grad_enabled():
        mean, rstd = statistics(input, dims, eps, rstd.dtype)
    arrays = dense_arrays(grad, input, weight, mean, rstd)
    if arrays is not None:
        given, x, w, means, rstds = arrays
        return _wrapped(backward.batch_norm_gradients(given, x, w, means, rstds, training, tuple(mask)))
    rstd = aten.reshape(rstd, shape)
    centred = (input - aten.reshape(mean, shape)) * rstd
    scaled = grad if weight is None else grad * aten.reshape(weight, shape)
    of_input = None
    if mask[0]:
        of_input = _normalized_backward(scaled, centred, rstd, dims) if training else scaled * rstd
    of_weight = aten.sum(grad * centred, dims) if mask[1] else None
    of_bias = aten.sum(grad, dims) if mask[2] else None
    return of_input, of_weight, of_bias


def batch_norm_backward(
    grad: Tensor,
    input: Tensor,
    weight: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    update: bool,
    eps: float,
    mask: Sequence[bool],
    reserve: Tensor,
) -> Gradients:
    """Return the gradients of `_batch_norm_with_update`; cuDNN alone has something in `reserve`."""
    return native_batch_norm_backward(grad, input, weight, running_mean, running_var, mean, rstd, update, eps, mask)
