"""Gradients of activations, element by element: the kernels of PyTorch's backward operators. Half and bfloat16 arrive
as float32.

What is as long as `self` and contiguous goes to the faster functions of `opwright_kernels.backward`, where there are.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import COMPLEX
from opwright_core.core import compiled
from opwright_kernels.backward import elu_gradient, gelu_gradient, silu_gradient
from opwright_kernels.elementwise.arithmetic import TANH_CUBIC, TANH_FACTOR
from opwright_kernels.special_functions.special import erf

Array = Any
Number = complex  # any of Python's


def _is_plain(xp: ModuleType, grad: Array, x: Array) -> bool:
    """Whether the functions on NumPy arrays of one shape take these."""
    return xp is np and grad.shape == x.shape and x.size > 0 and x.flags.c_contiguous and x.dtype == grad.dtype


# From the result


@compiled
def sigmoid_backward(xp: ModuleType, grad_output: Array, output: Array) -> Array:
    """Return grad y (1 - y), conjugated for complex numbers."""
    slope = 1 - output
    slope *= output
    return grad_output * (slope.conj() if slope.dtype in COMPLEX else slope)


@compiled
def tanh_backward(xp: ModuleType, grad_output: Array, output: Array) -> Array:
    """Return grad (1 - y²), conjugated for complex numbers."""
    slope = 1 - output * output
    return grad_output * (slope.conj() if slope.dtype in COMPLEX else slope)


# With a limit


@compiled
def hardtanh_backward(xp: ModuleType, grad_output: Array, self: Array, min_val: Number, max_val: Number) -> Array:
    """Return the gradient between the limits, and 0 at them and beyond."""
    return xp.where((self <= min_val) | (self >= max_val), grad_output.dtype.type(0), grad_output)


@compiled
def hardsigmoid_backward(xp: ModuleType, grad_output: Array, self: Array) -> Array:
    """Return a sixth of the gradient between -3 and 3, and 0 elsewhere."""
    return xp.where((self > -3) & (self < 3), grad_output * grad_output.dtype.type(1 / 6), grad_output.dtype.type(0))


@compiled
def hardswish_backward(xp: ModuleType, grad_output: Array, self: Array) -> Array:
    """Return 0 up to -3, the gradient from 3 on, and times x / 3 + 1 / 2 between them."""
    between = xp.where(self < 3, grad_output * (self / 3 + 0.5), grad_output)
    return xp.where(self <= -3, grad_output.dtype.type(0), between)


@compiled
def hardshrink_backward(xp: ModuleType, grad_out: Array, self: Array, lambd: Number) -> Array:
    """Return 0 from -lambd to lambd, and the gradient elsewhere."""
    return xp.where((self >= -lambd) & (self <= lambd), grad_out.dtype.type(0), grad_out)


def logit_backward(xp: ModuleType, grad_output: Array, self: Array, eps: float | None) -> Array:
    """Return grad / (x (1 - x)): 0 where x is clamped to eps, without eps NaN outside of 0 to 1."""
    low, high, beyond = (0.0, 1.0, math.nan) if eps is None or eps < 0 else (eps, 1.0 - eps, 0.0)
    slope = self * (1 - self) + 0.0  # no negative zero: at both of them the gradient is infinite
    return xp.where((self < low) | (self > high), slope.dtype.type(beyond), grad_output / slope)


# With a slope for negative numbers


@compiled
def leaky_relu_backward(xp: ModuleType, grad_output: Array, self: Array, negative_slope: Number) -> Array:
    """Return the gradient where x is positive, and times the slope elsewhere."""
    return xp.where(self > 0, grad_output, grad_output * negative_slope)


def _prelu_kernel_backward(xp: ModuleType, grad_output: Array, self: Array, weight: Array) -> tuple[Array, Array]:
    """Return the gradients of operands that were broadcast."""
    is_above = self > 0
    of_self = xp.where(is_above, grad_output, weight * grad_output)
    of_weight = xp.where(is_above, self.dtype.type(0), self * grad_output)
    return of_self, of_weight if of_weight.shape == of_self.shape else xp.broadcast_to(of_weight, of_self.shape)


def elu_backward(
    xp: ModuleType,
    grad_output: Array,
    alpha: Number,
    scale: Number,
    input_scale: Number,
    is_result: bool,
    self_or_result: Array,
) -> Array:
    """Return the gradient times scale above 0, and times alpha scale input_scale exp(x input_scale) elsewhere; of a
    result y that is input_scale (y + alpha scale)."""
    if is_result:
        below = grad_output * (input_scale * (self_or_result + alpha * scale))
        return xp.where(self_or_result <= 0, below, grad_output * scale)
    numbers: tuple[Any, ...] = (input_scale * alpha * scale, scale, input_scale)
    if _is_plain(xp, grad_output, self_or_result) and not any(isinstance(each, complex) for each in numbers):
        return elu_gradient(grad_output, self_or_result, *numbers)
    slope = xp.exp(xp.minimum(self_or_result, 0) * input_scale) * (input_scale * alpha * scale)
    return xp.where(self_or_result <= 0, grad_output * slope, grad_output * scale)


# Smooth ones


@compiled
def softplus_backward(xp: ModuleType, grad_output: Array, self: Array, beta: Number, threshold: Number) -> Array:
    """Return grad / (1 + exp(-beta x)), and the gradient itself where beta x is above the threshold."""
    scaled = self * beta
    divisor = xp.exp(-scaled)
    divisor += 1
    return xp.where(scaled > threshold, grad_output, grad_output / divisor)


@compiled
def log_sigmoid_backward(xp: ModuleType, grad_output: Array, self: Array, buffer: Array) -> Array:
    """Return grad / (1 + exp(x)), by `buffer`, which is exp(-|x|)."""
    share = buffer / (1 + buffer)
    return grad_output * xp.where(self < 0, 1 - share, share)


def silu_backward(xp: ModuleType, grad_output: Array, self: Array) -> Array:
    """Return grad s (1 + x (1 - s)), where s is the sigmoid of x; conjugated for complex numbers."""
    if _is_plain(xp, grad_output, self) and self.dtype not in COMPLEX:
        return silu_gradient(grad_output, self)
    gate = 1 / (1 + xp.exp(-self))
    slope = gate * (1 + self * (1 - gate))
    return grad_output * (slope.conj() if slope.dtype in COMPLEX else slope)


@compiled
def mish_backward(xp: ModuleType, grad_output: Array, self: Array) -> Array:
    """Return grad (t + x s (1 - t²)), where s is the sigmoid of x, and t the tanh of its softplus."""
    power = xp.exp(xp.minimum(self, 20))
    bent = xp.tanh(xp.log1p(power))
    return grad_output * (bent + self * (power / (1 + power)) * (1 - bent * bent))


def gelu_backward(xp: ModuleType, grad_output: Array, self: Array, approximate: str) -> Array:
    """Return the gradient of x times the cumulative normal distribution, or of its approximation by tanh."""
    if _is_plain(xp, grad_output, self):
        return gelu_gradient(grad_output, self, approximate)
    if approximate == "tanh":
        square = self * self
        gate = 1 / (1 + xp.exp(-2 * self * (TANH_FACTOR + TANH_CUBIC * square)))
        slope = gate * (1 + 2 * self * (TANH_FACTOR + 3 * TANH_CUBIC * square) * (1 - gate))
    else:
        density = xp.exp(-0.5 * self * self) * (1 / math.sqrt(2 * math.pi))
        slope = 0.5 * (1 + erf(xp, self * math.sqrt(0.5))) + self * density
    return grad_output * slope
