"""Backward functions of activations: each is the operator of PyTorch's of that name, too."""

from __future__ import annotations

import math
from typing import Any

import opwright
from opwright.autograd.quick import conjugate_of
from opwright_core.tensors.tensor import wrap
from opwright_kernels import backward
from opwright_kernels.plain import dense_arrays

Tensor = Any
aten = opwright.ops.aten


def sigmoid_backward(grad: Tensor, output: Tensor) -> Tensor:
    """Return the gradient of `sigmoid`, from its result."""
    return grad * conjugate_of(output * (1 - output))


def tanh_backward(grad: Tensor, output: Tensor) -> Tensor:
    """Return the gradient of `tanh`, from its result."""
    return grad * conjugate_of(1 - output * output)


def hardtanh_backward(grad: Tensor, self: Tensor, min_val: Any, max_val: Any) -> Tensor:
    """Return the gradient of `hardtanh`: none at the limits."""
    return aten.where((self <= min_val) | (self >= max_val), 0, grad)


def hardsigmoid_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of `hardsigmoid`: a sixth between -3 and 3."""
    return aten.where((self > -3) & (self < 3), grad / 6, 0)


def hardswish_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of `hardswish`: 0 up to -3, whole from 3 on."""
    return aten.where(self <= -3, 0, aten.where(self < 3, grad * (self / 3 + 0.5), grad))


def hardshrink_backward(grad: Tensor, self: Tensor, lambd: Any) -> Tensor:
    """Return the gradient of `hardshrink`: none from -lambd to lambd."""
    return aten.where((self >= -lambd) & (self <= lambd), 0, grad)


def softshrink_backward(grad: Tensor, self: Tensor, lambd: Any) -> Tensor:
    """Return the gradient of `softshrink`: none from -lambd to lambd."""
    return hardshrink_backward(grad, self, lambd)


def leaky_relu_backward(grad: Tensor, self: Tensor, negative_slope: Any, self_is_result: bool) -> Tensor:
    """Return the gradient of `leaky_relu`; its result has the sign of `self`, unless the slope is negative."""
    if self_is_result and negative_slope < 0:
        raise RuntimeError(f"leaky_relu_backward: a result of the slope {negative_slope} does not say where self was")
    return aten.where(self > 0, grad, grad * negative_slope)


def rrelu_with_noise_backward(
    grad: Tensor, self: Tensor, noise: Tensor, lower: Any, upper: Any, training: bool, self_is_result: bool
) -> Tensor:
    """Return the gradient of `rrelu_with_noise`: by the slopes that were drawn, by their mean where none were."""
    if training:
        return noise * grad
    return leaky_relu_backward(grad, self, (lower + upper) / 2, self_is_result)


def _prelu_kernel_backward(grad: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of `_prelu_kernel`, whose operands were broadcast."""
    return aten.where(self > 0, grad, weight * grad), aten.where(self > 0, 0, self * grad)


def log_sigmoid_backward(grad: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    """Return the gradient of `log_sigmoid`; what the forward call left in `buffer` is not needed."""
    return grad * aten.sigmoid(-self)


def softplus_backward(grad: Tensor, self: Tensor, beta: Any, threshold: Any) -> Tensor:
    """Return the gradient of `softplus`, which is linear where self * beta is above the threshold."""
    bent = self * beta
    return aten.where(bent > threshold, grad, grad * aten.sigmoid(bent))


def elu_backward(
    grad: Tensor, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Tensor
) -> Tensor:
    """Return the gradient of `elu`; the slope below 0 is alpha * scale * input_scale * exp(x * input_scale).

    Of a result y that slope is input_scale * (y + alpha * scale).
    """
    if is_result:
        if alpha < 0:
            raise RuntimeError(f"elu_backward: a result of alpha={alpha} does not say where self was")
        below = grad * input_scale * (self_or_result + alpha * scale)
        return aten.where(self_or_result <= 0, below, grad * scale)
    found = dense_arrays(grad, self_or_result)
    if found is not None and not any(isinstance(each, complex) for each in (alpha, scale, input_scale)):
        return wrap(backward.elu_gradient(found[0], found[1], input_scale * alpha * scale, scale, input_scale))
    bent = aten.exp(aten.where(self_or_result < 0, self_or_result, 0) * input_scale)
    return aten.where(self_or_result <= 0, grad * (input_scale * alpha * scale) * bent, grad * scale)


def gelu_backward(grad: Tensor, self: Tensor, approximate: str) -> Tensor:
    """Return the gradient of `gelu`."""
    found = dense_arrays(grad, self)
    if found is not None:
        return wrap(backward.gelu_gradient(found[0], found[1], approximate))
    return grad * gelu_derivative(self, approximate)


def infinitely_differentiable_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of `gelu` without approximation, by operators that have gradients of every order."""
    return grad * gelu_derivative(self, "none")


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
    first, second = _halves(self, dim)
    gate = aten.sigmoid(second)
    return aten.cat([grad * gate, grad * first * gate * (1 - gate)], dim)


def glu_backward_jvp(grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int) -> Tensor:
    """Return the tangent of `glu_backward`, whose result is `grad_x`, from those of `grad_glu` and of `x`."""
    (first, second), (first_t, second_t) = _halves(x, dim), _halves(dx, dim)
    gate = aten.sigmoid(second)
    slope = gate * (1 - gate)
    passed = dgrad_glu * gate + grad_glu * slope * second_t
    bent = grad_glu * (first_t * slope + first * slope * (1 - 2 * gate) * second_t)
    return aten.cat([passed, dgrad_glu * first * slope + bent], dim)


def _halves(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    half = x.shape[dim] // 2
    return aten.narrow(x, dim, 0, half), aten.narrow(x, dim, half, half)


def mish_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of `mish`."""
    return grad * mish_derivative(self)


def mish_derivative(x: Tensor) -> Tensor:
    """Return the slope of x tanh(softplus(x))."""
    bent, gate = aten.tanh(aten.softplus(x)), aten.sigmoid(x)
    return bent + x * gate * (1 - bent * bent)


def silu_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of `silu`."""
    found = dense_arrays(grad, self)
    if found is not None:
        return wrap(backward.silu_gradient(found[0], found[1]))
    return grad * aten.conj(silu_derivative(self))


def silu_derivative(x: Tensor) -> Tensor:
    """Return the slope of x sigmoid(x)."""
    gate = aten.sigmoid(x)
    return gate * (1 + x * (1 - gate))
