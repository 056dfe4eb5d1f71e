"""Backward functions of losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.tensors.tensor import wrap
from opwright_kernels import backward
from opwright_kernels.plain import arrays_of

Tensor = Any
aten = opwright.ops.aten

MEAN, SUM = 1, 2  # how losses are reduced; 0 is not at all


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


def mse_loss_backward(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Return the gradient of `mse_loss`; with the operands exchanged, that of the target."""
    return loss_backward(grad, 2 * (self - target), None, reduction)


def huber_loss_backward(grad: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """Return the gradient of `huber_loss`; with the operands exchanged, that of the target."""
    return loss_backward(grad, aten.clamp(self - target, -delta, delta), None, reduction)


def smooth_l1_loss_backward(grad: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """Return the gradient of `smooth_l1_loss`; with the operands exchanged, that of the target."""
    return loss_backward(grad, smooth_l1_derivative(self - target, beta), None, reduction)


def soft_margin_loss_backward(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Return the gradient of `soft_margin_loss`."""
    return loss_backward(grad, aten.conj(target * -aten.sigmoid(target * -self)), None, reduction)


def binary_cross_entropy_backward(
    grad: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """Return the gradient of `binary_cross_entropy`."""
    return loss_backward(grad, binary_cross_entropy_derivative(self, target), weight, reduction)


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
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """Return the gradient of `nll_loss` and of `nll_loss2d`."""
    return nll_backward(grad, self.shape, target, weight, reduction, ignore_index, total_weight)


def nll_backward(
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
    place = 1 if len(shape) > 1 else 0
    if not place:
        target = aten.reshape(target, [])  # for scores of one element, its class may come as a vector of one
    classes = aten.to(aten.unsqueeze(target, place), opwright.int64)
    is_used = classes != ignore_index
    safe = aten.where(is_used, classes, 0)
    if reduction == MEAN:
        grad = grad / total_weight
    elif reduction != SUM and len(shape) > 1:
        grad = aten.unsqueeze(grad, place)
    value = -grad
    if weight is not None:
        value = value * aten.reshape(aten.index_select(weight, 0, aten.reshape(safe, [-1])), safe.shape)
    value = aten.where(is_used, value, 0)
    return aten.scatter(aten.new_zeros(grad, shape), place, safe, value.expand(safe.shape))


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
