"""Slopes of activations and how they change, by operators that have gradients of every order: for tangents, and for
gradients of the backward operators."""

from __future__ import annotations

import math
from typing import Any

import opwright

Tensor = Any
aten = opwright.ops.aten


# gelu: x times the normal distribution's cumulative function, or an approximation of it by tanh


def infinitely_differentiable_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of `gelu` without approximation."""
    cumulative = 0.5 * (1 + aten.erf(self * math.sqrt(0.5)))
    return grad * (cumulative + self * _normal_density(self))


def gelu_curvature(x: Tensor, approximate: str) -> Tensor:
    """Return how the slope of `gelu` changes."""
    if approximate != "tanh":
        return (2 - x * x) * _normal_density(x)
    factor = math.sqrt(2 / math.pi)
    square = x * x
    inner = 2 * factor * x * (1 + 0.044715 * square)
    gate, rest = aten.sigmoid(inner), aten.sigmoid(-inner)  # (1 ± tanh) / 2, with digits where tanh is near ∓1
    slope = factor * (1 + 3 * 0.044715 * square)
    bent = 6 * 0.044715 * factor * square
    return 2 * gate * rest * (2 * slope + bent + 2 * x * slope * slope * (rest - gate))


def _normal_density(x: Tensor) -> Tensor:
    return aten.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


# Gates


def silu_curvature(x: Tensor) -> Tensor:
    """Return how the slope of `silu` changes: s r (2 + x (r - s)), where s is the sigmoid, and r of -x."""
    gate, rest = aten.sigmoid(x), aten.sigmoid(-x)
    return gate * rest * (2 + x * (rest - gate))


def mish_curvature(x: Tensor) -> Tensor:
    """Return how the slope of `mish` changes: t is the tanh of softplus, and 1 - t² is 4r² / (1 + r²)², r the sigmoid
    of -x."""
    bent, gate, rest = aten.tanh(aten.softplus(x)), aten.sigmoid(x), aten.sigmoid(-x)
    share = 2 * rest / (1 + rest * rest)
    return share * share * gate * (2 + x * (rest - 2 * bent * gate))


def log_sigmoid_curvature(x: Tensor) -> Tensor:
    """Return how the slope of `log_sigmoid` changes."""
    return -aten.sigmoid(x) * aten.sigmoid(-x)


def softplus_curvature(x: Tensor, beta: Any, threshold: Any) -> Tensor:
    """Return how the slope of `softplus` changes: not at all where it is linear."""
    scaled = x * beta
    return aten.where(scaled > threshold, 0, aten.sigmoid(scaled) * aten.sigmoid(-scaled) * beta)


def elu_curvature(self_or_result: Tensor, alpha: Any, scale: Any, input_scale: Any, is_result: bool) -> Tensor:
    """Return how the slope of `elu` changes with x, or with the result."""
    if is_result:
        return aten.where(self_or_result < 0, aten.full_like(self_or_result, input_scale), 0)
    bent = aten.exp(aten.where(self_or_result < 0, self_or_result, 0) * input_scale)
    return aten.where(self_or_result < 0, bent * (input_scale * input_scale * alpha * scale), 0)


def logit_curvature(x: Tensor, eps: float | None) -> Tensor:
    """Return how the slope of `logit` changes: not at all where x is clamped."""
    slope = x * (1 - x)
    return aten.where(_is_clamped(x, eps), 0, (2 * x - 1) / (slope * slope))


def logit_gradient_backward(grad: Tensor, x: Tensor, eps: float | None) -> Tensor:
    """Return the gradient of what `logit_backward` was given: 0 where x is clamped, or has no logarithm."""
    return aten.where(_is_clamped(x, eps), 0, grad / (x * (1 - x)))


def _is_clamped(x: Tensor, eps: float | None) -> Tensor:
    low, high = (0.0, 1.0) if eps is None or eps < 0 else (eps, 1.0 - eps)
    return (x < low) | (x > high)


# Pairs of gradients and halves


def prelu_gradient_backward(
    grad_input: Tensor | None, grad_weight: Tensor | None, grad_output: Tensor, self: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of what `_prelu_kernel_backward` was given."""
    is_above = self >= 0
    of_output, of_self, of_weight = aten.zeros_like(grad_output), aten.zeros_like(self), aten.zeros_like(weight)
    if grad_input is not None:
        of_output = aten.where(is_above, grad_input, grad_input * weight)
        of_weight = aten.where(is_above, 0, grad_output * grad_input)
    if grad_weight is not None:
        of_output = of_output + aten.where(is_above, 0, grad_weight * self)
        of_self = aten.where(is_above, 0, grad_output * grad_weight)
    return of_output, of_self, of_weight


def glu_gradient_backward(grad: Tensor, grad_output: Tensor, self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return the gradients of what `glu_backward` was given: the gradient, and both halves."""
    (first, second), (of_first, of_second) = halves(self, dim), halves(grad, dim)
    gate = aten.sigmoid(second)
    slope = gate * aten.sigmoid(-second)
    bent = slope * -aten.tanh(second / 2)
    of_output = of_first * gate + of_second * (first * slope)
    moved = of_second * first * grad_output * bent + of_first * grad_output * slope
    return of_output, aten.cat([of_second * grad_output * slope, moved], dim)


def halves(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return both halves along a dimension."""
    half = x.shape[dim] // 2
    return aten.narrow(x, dim, 0, half), aten.narrow(x, dim, half, half)
