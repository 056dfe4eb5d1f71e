"""The draws from gamma and Dirichlet distributions, and their gradients by the distribution function F: -(dF/da) / f.

`torch.distributions` calls these operators of PyTorch by their private names.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

import opwright
from opwright.autograd.function import Function, once_differentiable
from opwright_core.generators.generator import Generator, default_generator

__all__ = ["dirichlet_grad", "sample_dirichlet", "standard_gamma"]

Tensor = opwright.Tensor
Values = np.ndarray[Any, Any]
_MOST_TERMS: Final = 20_000
_ENOUGH: Final = 1e-17


def standard_gamma(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Return draws from gamma distributions with the shapes `self` and the rate 1."""
    drawn: Tensor = _StandardGamma.apply(self, generator)
    return drawn


class _StandardGamma(Function):
    """The draws, whose gradient goes through the distribution function."""

    @staticmethod
    def forward(ctx: Any, shapes: Tensor, generator: Generator | None) -> Tensor:
        smallest = np.finfo(np.float32 if shapes.dtype.itemsize < 8 else np.float64).tiny
        values = _numpy(shapes)
        drawn = np.array([_gamma(each, generator or default_generator) for each in values.ravel().tolist()])
        made = _like(np.maximum(drawn.reshape(values.shape), smallest), shapes)
        ctx.save_for_backward(shapes, made)
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        shapes, made = ctx.saved_tensors
        return grad * _like(_gamma_slope(_numpy(shapes), _numpy(made), _numpy(shapes.digamma())), shapes), None


def _numpy(tensor: Tensor) -> Values:
    return np.asarray(tensor.detach().to(opwright.float64).cpu().numpy())


def _like(values: Values, tensor: Tensor) -> Tensor:
    made: Tensor = opwright.from_numpy(np.ascontiguousarray(values)).to(dtype=tensor.dtype, device=tensor.device)
    return made


def _gamma(shape: float, source: Generator) -> float:
    """Return one draw by the method of Marsaglia and Tsang, which draws in the order of PyTorch's."""
    if shape == 0:
        return 0.0
    scale = 1.0
    if shape < 1:
        scale = float((1 - source.uniform(1, opwright.float64).item()) ** (1 / shape))
        shape += 1
    third = shape - 1 / 3
    width = 1 / math.sqrt(9 * third)
    while True:
        normal = source.single_normals(1, 0.0, 1.0).item()
        side = 1 + width * normal
        if side <= 0:
            continue
        cube: float = side**3
        chance = 1 - source.uniform(1, opwright.float64).item()
        square = normal * normal
        if chance < 1 - 0.0331 * square * square or math.log(chance) < square / 2 + third * (1 - cube + math.log(cube)):
            return scale * third * cube


def _gamma_slope(shape: Values, x: Values, digamma: Values) -> Values:
    """Return the derivatives of draws by their shapes, from the power series of the incomplete gamma function."""
    with np.errstate(all="ignore"):
        term, total = np.ones_like(x), np.zeros_like(x)
        slope = np.log(x) - digamma - 1 / shape
        for number in range(1, _MOST_TERMS):
            total += term * slope
            term = term * x / (shape + number)
            slope = slope - 1 / (shape + number)
            if not np.any(np.abs(term * slope) > _ENOUGH * np.abs(total)):
                break
        return np.nan_to_num(-x / shape * total)


def sample_dirichlet(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Return draws from Dirichlet distributions along the last dimension."""
    values = _numpy(self)
    drawn = np.array([_gamma(each, generator or default_generator) for each in values.ravel().tolist()])
    parts = np.maximum(drawn.reshape(values.shape), np.finfo(np.float64).tiny)
    limits = np.finfo(np.float32 if self.dtype.itemsize < 8 else np.float64)
    return _like(np.clip(parts / parts.sum(-1, keepdims=True), limits.tiny, 1 - limits.epsneg), self)


def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """Return -(dF/dalpha) / f / (1 - x) of the beta distribution with `alpha` and `total - alpha` at `x`.

    F is a hypergeometric series in x below the mean, and in 1 - x above it.
    """
    at, a, all_ = np.broadcast_arrays(*map(_numpy, (x, alpha, total)))
    b = all_ - a
    lift = np.log(at) + _numpy(total.digamma()) - _numpy(alpha.digamma())
    with np.errstate(all="ignore"):
        below = -at / a * _series(at, a + 1, all_, lift - 1 / a, is_first=True)
        above = at / b * _series(1 - at, b + 1, all_, lift, is_first=False)
    return _like(np.nan_to_num(np.where(at <= a / all_, below, above)), x)


def _series(x: Values, low: Values, high: Values, slope: Values, *, is_first: bool) -> Values:
    """Return the sum of the terms (high)_k / (low)_k x^k with the derivatives of their logarithms."""
    term, total = np.ones_like(x), np.zeros_like(x)
    for number in range(_MOST_TERMS):
        total = total + term * slope
        term = term * x * (high + number) / (low + number)
        slope = slope + 1 / (high + number) - (1 / (low + number) if is_first else 0)
        if not np.any(np.abs(term * slope) > _ENOUGH * np.abs(total)):
            break
    return total
