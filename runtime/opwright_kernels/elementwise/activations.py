"""Activations of neural networks, element by element. Half and bfloat16 arrive as float32.

`out`, when not None, may be `self`'s own memory: only the last step writes to it.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import CANONICAL, FLOATING, wrapped_scalar
from opwright_core.core import compiled
from opwright_core.random_state.generator import Generator, source_for
from opwright_kernels.special_functions.approximation import filled_in_blocks

Array = Any
_ZEROS = {dtype: np.zeros((), dtype) for dtype in CANONICAL}  # NumPy casts no number then


@compiled
def silu(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return self / (1 + exp(-self))."""
    return filled_in_blocks(xp, _fill_silu, self, out)


def _fill_silu(xp: ModuleType, x: Array, out: Array) -> None:
    divisor = xp.negative(x)
    xp.exp(divisor, out=divisor)
    divisor += 1
    xp.divide(x, divisor, out=out)


@compiled
def mish(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return self * tanh(log(1 + exp(self)))."""
    return filled_in_blocks(xp, _fill_mish, self, out)


def _fill_mish(xp: ModuleType, x: Array, out: Array) -> None:
    factor = xp.exp(x)
    xp.log1p(factor, out=factor)
    xp.tanh(factor, out=factor)
    xp.multiply(x, factor, out=out)


@compiled
def elu(xp: ModuleType, self: Array, alpha: complex, scale: complex, input_scale: complex) -> Array:
    """Return scale * self; below zero scale * alpha * (exp(input_scale * self) - 1)."""
    return filled_in_blocks(xp, partial(_fill_elu, numbers=(alpha, scale, input_scale)), self, None)


def _fill_elu(xp: ModuleType, x: Array, out: Array, numbers: tuple[complex, complex, complex]) -> None:
    alpha, scale, input_scale = numbers
    above = xp.maximum(x, 0)
    xp.minimum(x, 0, out=out)
    if input_scale != 1:
        out *= input_scale
    xp.expm1(out, out=out)
    if alpha * scale != 1:
        out *= alpha * scale
    if scale != 1:
        above *= scale
    out += above


def celu(xp: ModuleType, self: Array, alpha: complex) -> Array:
    """Return `elu` with a slope at zero of 1 for every alpha."""
    return elu(xp, self, alpha, 1, 1 / alpha)


@compiled
def relu(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return `self`, 0 where it is below."""
    return xp.maximum(self, _ZEROS.get(self.dtype, 0) if xp is np else 0, out=out)


@compiled
def leaky_relu(xp: ModuleType, self: Array, negative_slope: Any, out: Array | None = None) -> Array:
    """Return `self`; times a slope, a number or an array that broadcasts, where it is not positive."""
    if isinstance(negative_slope, (int, float)) and 0 < negative_slope <= 1:
        return xp.maximum(self, self * negative_slope, out=out)
    return xp.where(self > 0, self, self * negative_slope)


def rrelu_with_slopes(
    xp: ModuleType,
    self: Array,
    noise: Array,
    lower: complex,
    upper: complex,
    training: bool,
    generator: Generator | None,
) -> tuple[Array, Array]:
    """Return `leaky_relu` with a slope drawn anew for each element that is not positive, and the slopes, 1 elsewhere;
    the mean slope, and the noise as it was, unless `training`. Raises RuntimeError for noise of another shape."""
    if noise.shape != self.shape:
        raise RuntimeError(f"rrelu: noise must be of shape {list(self.shape)}, got {list(noise.shape)}")
    low, high = _real(lower), _real(upper)
    if not training:
        return leaky_relu(xp, self, (low + high) / 2), noise
    drawn = xp.ascontiguousarray(self <= 0).reshape(self.shape)
    count = int(drawn.sum())
    slopes = xp.ones(self.shape, self.dtype)
    slopes[drawn] = xp.asarray(
        source_for(self, generator).uniform(count, np.dtype("float64"), low, high).astype(self.dtype)
    )
    return self * slopes, slopes


def _real(number: complex) -> float:
    return number.real if isinstance(number, complex) else number


@compiled
def softplus(xp: ModuleType, self: Array, beta: complex, threshold: complex) -> Array:
    """Return log(1 + exp(beta * self)) / beta; `self` where beta * self is above the threshold."""
    return filled_in_blocks(xp, partial(_fill_softplus, beta=beta, threshold=threshold), self, None)


def _fill_softplus(xp: ModuleType, x: Array, out: Array, beta: complex, threshold: complex) -> None:
    scaled = x if beta == 1 else x * beta
    is_linear = scaled > threshold
    xp.exp(scaled, out=out)
    xp.log1p(out, out=out)
    if beta != 1:
        out /= beta
    xp.copyto(out, x, where=is_linear)


@compiled
def log_sigmoid(xp: ModuleType, self: Array) -> tuple[Array, Array]:
    """Return log(1 / (1 + exp(-self))), and exp(-|self|), which its gradient needs."""
    buffer = xp.abs(self, out=xp.empty_like(self))
    xp.negative(buffer, out=buffer)
    xp.exp(buffer, out=buffer)
    result = xp.minimum(self, 0)
    result -= xp.log1p(buffer)
    return result, buffer


@compiled
def hardtanh(xp: ModuleType, self: Array, min_val: complex, max_val: complex, out: Array | None = None) -> Array:
    """Return each element held within [min_val, max_val]; the bounds become integers where `self` holds them."""
    if self.dtype not in FLOATING:
        min_val, max_val = int(_real(min_val)), int(_real(max_val))
    low, high = wrapped_scalar(min_val, self.dtype), wrapped_scalar(max_val, self.dtype)
    return xp.minimum(xp.maximum(self, low, out=out), high, out=out)


@compiled
def hardsigmoid(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return (self + 3) / 6, held within [0, 1]."""
    result = _between_0_and_6(xp, self)
    return xp.divide(result, 6, out=out)


@compiled
def hardswish(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Return self * hardsigmoid(self)."""
    return filled_in_blocks(xp, _fill_hardswish, self, out)


def _fill_hardswish(xp: ModuleType, x: Array, out: Array) -> None:
    held = _between_0_and_6(xp, x)
    held *= x
    xp.divide(held, 6, out=out)


def _between_0_and_6(xp: ModuleType, self: Array) -> Array:
    result = xp.add(self, 3, out=xp.empty_like(self))
    return xp.clip(result, 0, 6, out=result)


@compiled
def hardshrink(xp: ModuleType, self: Array, lambd: complex) -> Array:
    """Return 0 where -lambd <= self <= lambd, else `self`."""
    result = xp.multiply(self, (self < -lambd) | (self > lambd), out=xp.empty_like(self))
    result += 0  # no negative zeros
    return result


@compiled
def softshrink(xp: ModuleType, self: Array, lambd: complex, out: Array | None = None) -> Array:
    """Return `self`, moved towards zero by `lambd` and not beyond."""
    held = xp.clip(self, -lambd, lambd, out=xp.empty_like(self))
    return xp.subtract(self, held, out=out)


@compiled
def threshold(xp: ModuleType, self: Array, threshold: complex, value: complex) -> Array:
    """Return `value` where `self` is not above the threshold."""
    limit, low = wrapped_scalar(threshold, self.dtype), wrapped_scalar(value, self.dtype)
    return xp.where(self <= limit, low, self)


@compiled
def threshold_backward(xp: ModuleType, grad_output: Array, self: Array, threshold: complex) -> Array:
    """Return `grad_output`, and 0 where `self` is not above the threshold."""
    limit = wrapped_scalar(threshold, self.dtype)
    return xp.where(self <= limit, grad_output.dtype.type(0), grad_output)


def glu(xp: ModuleType, self: Array, dim: int, out: Array | None = None) -> Array:
    """Return the first half along `dim`, times the sigmoid of the second."""
    first, second = xp.split(self, 2, axis=dim)
    divisor = xp.negative(second, out=xp.empty_like(second))
    xp.exp(divisor, out=divisor)
    divisor += 1
    return xp.divide(first, divisor, out=out)
