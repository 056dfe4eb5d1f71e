"""Backward functions of discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.arrays.sizes import guard_or_true

Tensor = Any
aten = opwright.ops.aten


def fft_r2c_backward(
    grad: Tensor, dim: Sequence[int], normalization: int, onesided: bool, shape: Sequence[int]
) -> Tensor:
    """Return the real part of the inverse transforms, the half that is missing being zero. `shape`: that of `self`."""
    missing = shape[dim[-1]] - grad.shape[dim[-1]] if onesided else 0
    if onesided and guard_or_true(missing > 0):
        zeros = list(grad.shape)
        zeros[dim[-1]] = missing
        grad = aten.cat([grad, aten.new_zeros(grad, zeros)], dim[-1])
    return aten.real(aten._fft_c2c(grad, dim, normalization, False))


def fft_c2r_backward(grad: Tensor, dim: Sequence[int], normalization: int) -> Tensor:
    """Return the transforms of real gradients: what stands for two elements of the whole spectrum counts twice."""
    last = dim[-1]
    found = aten._fft_r2c(grad, dim, normalization, True)
    doubled = grad.shape[last] - found.shape[last]
    position = aten.arange(found.shape[last], device=grad.device)
    is_doubled = aten.logical_and(position >= 1, position <= doubled)
    weights = aten.where.Scalar(is_doubled, 2.0, 1.0).to(grad.dtype)
    behind = grad.ndim - 1 - last % grad.ndim
    return aten.mul(found, aten.reshape(weights, [-1] + [1] * behind))
