"""Operators of neural networks that are made of others, for every device. They see Tensors."""

from __future__ import annotations

from typing import Any

import opwright
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.arrays.sizes import guard_or_true, holds
from opwright_kernels.rules.activations import check_bounds

Operand = Any  # a Tensor


# Activations


def prelu(self: Operand, weight: Operand) -> Operand:
    """Return `self`, times a weight where it is not positive: one for all, or one for each channel (dimension 1)."""
    aten = opwright.ops.aten
    if self.dtype != weight.dtype:
        raise RuntimeError(f"prelu: self and weight must have one dtype, but got {self.dtype} and {weight.dtype}")
    if len(weight.shape) > 1:
        raise RuntimeError(f"prelu: weight must be of 0 or 1 dimensions, but has shape {list(weight.shape)}")
    ndim = len(self.shape)
    if len(weight.shape) == 1 and guard_or_true(weight.shape[0] != 1):
        if ndim == 0:
            raise RuntimeError("prelu: a 0-dim tensor has no channels")
        channels = self.shape[1] if ndim > 1 else 1
        if not holds(channels == weight.shape[0]):
            raise RuntimeError(f"prelu: {weight.shape[0]} weights do not fit {channels} channels")
    if ndim != 1 or len(weight.shape) != 1:
        weight = aten.reshape(weight, [weight.shape[0] if len(weight.shape) and d == 1 else 1 for d in range(ndim)])
    return aten._prelu_kernel(self, weight)


def rrelu(self: Operand, lower: complex, upper: complex, training: bool, generator: Any) -> Operand:
    """Call `leaky_relu` with random slopes when training, with the mean slope else."""
    aten = opwright.ops.aten
    check_bounds(lower, upper, as_dtype(self.dtype))
    if not training:
        return aten.leaky_relu(aten.contiguous(self), (lower + upper) / 2)
    self = aten.contiguous(self)
    return aten.rrelu_with_noise_functional(self, aten.empty_like(self), lower, upper, training, generator)[0]


def rrelu_with_noise(
    self: Operand, noise: Operand, lower: complex, upper: complex, training: bool, generator: Any
) -> Operand:
    """Call `rrelu` so that it writes the slopes into `noise`."""
    aten = opwright.ops.aten
    check_bounds(lower, upper, as_dtype(self.dtype))
    if not training:
        return aten.leaky_relu(aten.contiguous(self), (lower + upper) / 2)
    result, slopes = aten.rrelu_with_noise_functional(aten.contiguous(self), noise, lower, upper, training, generator)
    aten.copy_(noise, slopes)
    return result
