"""Backward functions of activations, losses, embeddings and normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.tensors.tensor import wrap
from opwright_kernels import backward
from opwright_kernels.gradients.reductions import add_gradients
from opwright_kernels.plain import arrays_of

Tensor = Any
Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]
aten = opwright.ops.aten

MEAN, SUM = 1, 2  # how losses are reduced; 0 is not at all


# Activations


def elu_backward(grad: Tensor, self: Tensor, alpha: Any, scale: Any, input_scale: Any) -> Tensor:
    """Return the gradient of `elu`; the slope below 0 is alpha * scale * input_scale * exp(x * input_scale)."""
    found = _dense(grad, self)
    if found is not None and not isinstance(alpha, complex):
        return wrap(backward.elu_gradient(found[0], found[1], input_scale * alpha * scale, scale, input_scale))
    below = grad * (input_scale * alpha * scale) * aten.exp(aten.where(self < 0, self, 0) * input_scale)
    return aten.where(self <= 0, below, grad * scale)


def _dense(grad: Tensor, like: Tensor, *others: Tensor | None) -> list[Any] | None:
    """Return the arrays of tensors on the fast path, where the second is contiguous and not empty."""
    found = arrays_of(grad, like, *others)
    return found if found is not None and found[1].size and found[1].flags.c_contiguous else None


def gelu_backward(grad: Tensor, self: Tensor, approximate: str) -> Tensor:
    """Return the gradient of `gelu`."""
    found = _dense(grad, self)
    if found is not None:
        return wrap(backward.gelu_gradient(found[0], found[1], approximate))
    return grad * gelu_derivative(self, approximate)


def gelu_derivative(x: Tensor, approximate: str) -> Tensor:
    """Return the slope of x times the normal distribution's cumulative function, or of its approximation by tanh."""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
        gate = aten.sigmoid(2 * inner)  # (1 + tanh(inner)) / 2, with digits where tanh is nearly -1
        return gate * (1 + 2 * x * slope * (1 - gate))
    cumulative = 0.5 * (1 + aten.erf(x * math.sqrt(0.5)))
    density = aten.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return cumulative + x * density


def glu_backward(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """Return the gradients of the half that passes and of the half that opens the gate."""
    half = self.shape[dim] // 2
    first, second = aten.narrow(self, dim, 0, half), aten.narrow(self, dim, half, half)
    gate = aten.sigmoid(second)
    return aten.cat([grad * gate, grad * first * gate * (1 - gate)], dim)


def mish_derivative(x: Tensor) -> Tensor:
    """Return the slope of x tanh(softplus(x))."""
    bent, gate = aten.tanh(aten.softplus(x)), aten.sigmoid(x)
    return bent + x * gate * (1 - bent * bent)


def silu_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of `silu`."""
    found = _dense(grad, self)
    if found is not None:
        return wrap(backward.silu_gradient(found[0], found[1]))
    return grad * aten.conj(silu_derivative(self))


def silu_derivative(x: Tensor) -> Tensor:
    """Return the slope of x sigmoid(x)."""
    gate = aten.sigmoid(x)
    return gate * (1 + x * (1 - gate))


def softmax_backward(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """Return the gradient less its mean under the result's weights, times these."""
    found = _dense(grad, result)
    if found is not None and dim in (-1, result.ndim - 1) and result.ndim:
        return wrap(backward.softmax_gradient(found[0], found[1]))
    weighted = grad * result
    return weighted - result * aten.sum(weighted, [dim], True)


def log_softmax_backward(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """Return the gradient less its sum times the softmax."""
    found = _dense(grad, result)
    if found is not None and dim in (-1, result.ndim - 1) and result.ndim:
        return wrap(backward.log_softmax_gradient(found[0], found[1]))
    return grad - aten.exp(result) * aten.sum(grad, [dim], True)


# Losses


def loss_backward(
    grad: Tensor, slope: Tensor, weight: Tensor | None, reduction: int, shape: Sequence[int] | None = None
) -> Tensor:
    """Return the gradient of one operand of a loss, from its slope for each element, whose mean or sum the loss is."""
    found = grad * (slope if weight is None else slope * weight)
    if reduction != MEAN:
        return found
    count = 1
    for size in found.shape if shape is None else shape:
        count = count * size
    return found / count


def binary_cross_entropy_derivative(probability: Tensor, target: Tensor) -> Tensor:
    """Return (p - t) / (p (1 - p)), the denominator not below 1e-12."""
    return (probability - target) / aten.clamp_min((1 - probability) * probability, 1e-12)


def binary_cross_entropy_target_derivative(probability: Tensor) -> Tensor:
    """Return log(1 - p) - log(p), neither below -100."""
    return aten.clamp_min(aten.log1p(-probability), -100) - aten.clamp_min(aten.log(probability), -100)


def logits_derivative(x: Tensor, target: Tensor, pos_weight: Tensor | None) -> Tensor:
    """Return sigmoid(x) - t, where positive targets count `pos_weight` times."""
    gate = aten.sigmoid(x)
    if pos_weight is None:
        return gate - target
    positive = pos_weight * target
    return (positive + 1 - target) * gate - positive


def logits_target_derivative(x: Tensor, pos_weight: Tensor | None) -> Tensor:
    """Return the slope in the target."""
    if pos_weight is None:
        return -x
    return aten.log_sigmoid(-x) - pos_weight * aten.log_sigmoid(x)


def smooth_l1_derivative(distance: Tensor, beta: float) -> Tensor:
    """Return distance / beta, between -1 and 1."""
    if beta == 0:
        return aten.where(aten.isnan(distance), distance, aten.sign(distance))
    return aten.clamp(distance / beta, -1, 1)


def nll_loss_backward(
    grad: Tensor,
    shape: Sequence[int],
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """Return minus the weight at the target's class of each element, 0 for ignored ones."""
    is_simple = len(shape) == 2 and len(target.shape) == 1
    found = arrays_of(grad, weight, total_weight, indices=target) if is_simple else None
    if found is not None:
        given, weights, total, classes = found
        is_mean = reduction == MEAN
        return wrap(backward.nll_loss_gradient(given, weights, total, classes, tuple(shape), is_mean, ignore_index))
    axis = 1 if len(shape) > 1 else 0
    if not axis:
        target = aten.reshape(target, [])  # for scores of one element, its class may come as a vector of one
    classes = aten.to(aten.unsqueeze(target, axis), opwright.int64)
    is_used = classes != ignore_index
    safe = aten.where(is_used, classes, 0)
    if reduction == MEAN:
        grad = grad / total_weight
    elif reduction != SUM and len(shape) > 1:
        grad = aten.unsqueeze(grad, axis)
    value = -grad
    if weight is not None:
        value = value * aten.reshape(aten.index_select(weight, 0, aten.reshape(safe, [-1])), safe.shape)
    value = aten.where(is_used, value, 0)
    return aten.scatter(aten.new_zeros(grad, shape), axis, safe, value.expand(safe.shape))


def multi_margin_loss_backward(
    grad: Tensor, self: Tensor, target: Tensor, p: float, margin: float, weight: Tensor | None, reduction: int
) -> Tensor:
    """Return the slope of each other class that comes nearer than `margin`, and minus their sum for the target."""
    classes = self.shape[-1] if self.ndim else 1
    rows = aten.reshape(self, [-1, classes])
    chosen = aten.reshape(target, [-1, 1])
    excess = rows - aten.gather(rows, 1, chosen) + margin
    excess = aten.where(excess > 0, excess, 0)  # NaN is none
    slope = 2 * excess if p == 2 else aten.to(excess > 0, rows.dtype)
    if weight is not None:
        slope = slope * aten.unsqueeze(aten.index_select(weight, 0, aten.reshape(target, [-1])), -1)
    slope = aten.scatter(slope, 1, chosen, 0)
    slope = aten.scatter_add(slope, 1, chosen, -aten.sum(slope, [1], True)) / classes
    return _of_rows(grad, slope, reduction, self)


def multilabel_margin_loss_backward(
    grad: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor
) -> Tensor:
    """Return 1 for each pair of a class that is no target and a target it comes nearer than 1, -1 for the target."""
    classes = self.shape[-1] if self.ndim else 1
    rows = aten.reshape(self, [-1, classes])
    listed, marks = aten.reshape(target, rows.shape), aten.reshape(is_target, rows.shape)
    valid = aten.cumprod(aten.to(listed >= 0, rows.dtype), 1)
    chosen = aten.where(valid == 0, 0, listed)
    is_near = aten.unsqueeze(rows, 1) - aten.unsqueeze(aten.gather(rows, 1, chosen), 2) + 1 > 0
    counted = aten.where(is_near, aten.unsqueeze(valid, 2) * aten.unsqueeze(1 - marks, 1), 0)
    slope = aten.scatter_add(aten.sum(counted, [1]), 1, chosen, -aten.sum(counted, [2])) / classes
    return _of_rows(grad, slope, reduction, self)


def _of_rows(grad: Tensor, slope: Tensor, reduction: int, like: Tensor) -> Tensor:
    """Return the gradient of a loss of each row, of which the mean or the sum may have been taken."""
    scaled = grad if reduction else aten.reshape(grad, [-1, 1])
    found = scaled * slope
    return aten.reshape(found / slope.shape[0] if reduction == MEAN else found, like.shape)


# Embeddings and normalisation


def embedding_backward(
    grad: Tensor, indices: Tensor, shape: Sequence[int], padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """Return the gradients of all positions that a row went to, added; over their number, if asked for."""
    flat = aten.reshape(indices, [-1])
    rows = aten.reshape(grad, [*flat.shape, *shape[1:]])
    if scale_grad_by_freq:
        counts = aten.bincount(flat, None, shape[0])
        rows = rows / aten.unsqueeze(aten.index_select(counts, 0, flat), -1)
    if padding_idx >= 0:
        rows = aten.where(aten.unsqueeze(flat != padding_idx, -1), rows, 0)
    return aten.index_add(aten.new_zeros(grad, shape), 0, flat, rows)


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


def _wrapped(arrays: Sequence[Any]) -> Gradients:
    of_input, of_weight, of_bias = (None if each is None else wrap(each) for each in arrays)
    return of_input, of_weight, of_bias


def layer_norm_backward(
    grad: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    eps: float,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of input, weight and bias."""
    outer = input.ndim - len(normalized_shape)
    arrays = _dense(grad, input, weight, mean, rstd)
    if arrays is not None:
        given, x, w, means, rstds = arrays
        shape = tuple(normalized_shape)
        return _wrapped(backward.layer_norm_gradients(given, x, w, means, rstds, shape, tuple(mask)))
    if opwright.is_grad_enabled():
        mean, rstd = statistics(input, range(outer, input.ndim), eps, rstd.dtype)
    centred = (input - mean) * rstd
    scaled = grad if weight is None else grad * weight
    of_input = _normalized_backward(scaled, centred, rstd, range(outer, input.ndim)) if mask[0] else None
    first = list(range(outer))
    of_weight = (aten.sum(grad * centred, first) if first else grad * centred) if mask[1] else None
    of_bias = (aten.sum(grad, first) if first else grad) if mask[2] else None
    return of_input, of_weight, of_bias


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
        arrays = _dense(grads[0], input, weight, mean, rstd)
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


def batch_norm_backward(
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
    dims = [axis for axis in range(input.ndim) if axis != 1]
    if not training and running_mean is not None and running_var is not None:
        mean, rstd = running_mean, aten.rsqrt(running_var + eps)
    elif opwright.is_grad_enabled():
        mean, rstd = statistics(input, dims, eps, rstd.dtype)
    arrays = _dense(grad, input, weight, mean, rstd)
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
