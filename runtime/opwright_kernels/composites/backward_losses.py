"""The backward operators of losses."""

from __future__ import annotations

from typing import Any

import opwright
from opwright_core.core import compiled
from opwright_core.tensors.tensor import wrap
from opwright_kernels import backward
from opwright_kernels.gradients.losses import (
    MEAN,
    NONE,
    binary_cross_entropy_derivative,
    loss_backward,
    smooth_l1_derivative,
    soft_margin_slope,
)
from opwright_kernels.plain import arrays_of

Operand = Any  # a Tensor
aten = opwright.ops.aten


def mse_loss_backward(grad_output: Operand, self: Operand, target: Operand, reduction: int) -> Operand:
    """Return the gradient of `mse_loss`; with the operands exchanged, that of the target."""
    return loss_backward(grad_output, 2 * (self - target), None, reduction)


def huber_loss_backward(grad_output: Operand, self: Operand, target: Operand, reduction: int, delta: float) -> Operand:
    """Return the gradient of `huber_loss`; with the operands exchanged, that of the target."""
    return loss_backward(grad_output, aten.clamp(self - target, -delta, delta), None, reduction)


def smooth_l1_loss_backward(
    grad_output: Operand, self: Operand, target: Operand, reduction: int, beta: float
) -> Operand:
    """Return the gradient of `smooth_l1_loss`; with the operands exchanged, that of the target."""
    return loss_backward(grad_output, smooth_l1_derivative(self - target, beta), None, reduction)


def soft_margin_loss_backward(grad_output: Operand, self: Operand, target: Operand, reduction: int) -> Operand:
    """Return the gradient of `soft_margin_loss`."""
    return loss_backward(grad_output, aten.conj(soft_margin_slope(self, target)), None, reduction)


def binary_cross_entropy_backward(
    grad_output: Operand, self: Operand, target: Operand, weight: Operand | None, reduction: int
) -> Operand:
    """Return the gradient of `binary_cross_entropy`."""
    return loss_backward(grad_output, binary_cross_entropy_derivative(self, target), weight, reduction)


@compiled
def nll_loss_backward(
    grad_output: Operand,
    self: Operand,
    target: Operand,
    weight: Operand | None,
    reduction: int,
    ignore_index: int,
    total_weight: Operand,
) -> Operand:
    """Return minus the weight at the target's class of each element, 0 for ignored ones."""
    shape = self.shape
    is_simple = len(shape) == 2 and len(target.shape) == 1
    found = arrays_of(grad_output, weight, total_weight, indices=target) if is_simple else None
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
    grad = grad_output
    if reduction == MEAN:
        grad = grad / total_weight
    elif reduction == NONE and len(shape) > 1:  # any other number is the sum, as in PyTorch
        grad = aten.unsqueeze(grad, axis)
    value = -grad
    if weight is not None:
        value = value * aten.reshape(aten.index_select(weight, 0, aten.reshape(safe, [-1])), safe.shape)
    value = aten.where(is_used, value, 0)
    return aten.scatter(aten.new_zeros(grad, shape), axis, safe, value.expand(safe.shape))
