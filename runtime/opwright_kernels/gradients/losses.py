"""Slopes of losses and how they change, and gradients of losses from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base
from opwright_core.core import compiled

Tensor = Any
aten = opwright.ops.aten

NONE, MEAN, SUM = 0, 1, 2  # how losses are reduced


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


def distance_curvature(self: Tensor, target: Tensor, limit: float, height: float = 1.0) -> Tensor:
    """Return how the slope of a loss changes that is a parabola where operands are nearer than `limit`: `height` there,
    0 elsewhere."""
    distance = aten.abs(self - target)
    return aten.where(distance < limit, aten.full_like(distance, height), 0)


def soft_margin_slope(self: Tensor, target: Tensor) -> Tensor:
    """Return the slope of log(1 + exp(-t x))."""
    return target * -aten.sigmoid(target * -self)


def soft_margin_curvature(self: Tensor, target: Tensor) -> Tensor:
    """Return how that slope changes with x."""
    product = target * self
    return target * target * aten.sigmoid(product) * aten.sigmoid(-product)


def binary_cross_entropy_smooth_derivative(probability: Tensor, target: Tensor) -> Tensor:
    """Return the slope as PyTorch's second derivatives have it: the denominator is never 0, but may be negative."""
    return (probability - target) / ((probability + 1e-12) * (1 - probability + 1e-12))


def binary_cross_entropy_curvature(probability: Tensor, target: Tensor) -> Tensor:
    """Return how the slope changes with the probability: (p² - 2 p t + t) / (p (1 - p))²."""
    product = (probability + 1e-12) * (1 - probability + 1e-12)
    return (probability * probability - 2 * probability * target + target) / (product * product)


def binary_cross_entropy_target_curvature(probability: Tensor) -> Tensor:
    """Return how the slope changes with the target: -1 / (p (1 - p))."""
    return -1 / aten.clamp_min(probability * (1 - probability), 1e-12)


# Margins between classes: these are operators, made of others


@compiled
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


@compiled
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
    return without_base(aten.reshape(found / slope.shape[0] if reduction == MEAN else found, like.shape))
