"""The draws from gamma and Dirichlet distributions, and their gradients by the distribution function F: -(dF/da) / f.

`torch.distributions` calls these operators of PyTorch by their private names. Here they are operators of a namespace of
their own, so that `vmap` knows that they draw.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

import opwright
from opwright import library
from opwright_core.random_state.generator import Generator, default_generator

__all__ = ["dirichlet_grad", "sample_dirichlet", "standard_gamma"]

Tensor = opwright.Tensor
Values = np.ndarray[Any, Any]
_MOST_TERMS: Final = 20_000
_ENOUGH: Final = 1e-17


LIBRARY: Final = library.Library("opwright_draws", "DEF")
for _draw in ("standard_gamma", "sample_dirichlet"):
    LIBRARY.define(f"{_draw}(Tensor self, Generator? generator=None) -> Tensor", tags="nondeterministic_seeded")
LIBRARY.define("standard_gamma_grad(Tensor self, Tensor output) -> Tensor")


def standard_gamma(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Return draws from gamma distributions with the shapes `self` and the rate 1."""
    drawn: Tensor = opwright.ops.opwright_draws.standard_gamma(self, generator)
    return drawn


def sample_dirichlet(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Return draws from Dirichlet distributions along the last dimension."""
    drawn: Tensor = opwright.ops.opwright_draws.sample_dirichlet(self, generator)
    return drawn


def _gammas(shapes: Tensor, generator: Generator | None = None) -> Tensor:
    smallest = np.finfo(np.float32 if shapes.dtype.itemsize < 8 else np.float64).tiny
    return _like(np.maximum(_drawn(shapes, generator), smallest), shapes)


def _dirichlets(shapes: Tensor, generator: Generator | None = None) -> Tensor:
    parts = np.maximum(_drawn(shapes, generator), np.finfo(np.float64).tiny)
    limits = np.finfo(np.float32 if shapes.dtype.itemsize < 8 else np.float64)
    return _like(np.clip(parts / parts.sum(-1, keepdims=True), limits.tiny, 1 - limits.epsneg), shapes)


def _gamma_grad(shapes: Tensor, output: Tensor) -> Tensor:
    return _like(_gamma_slope(_numpy(shapes), _numpy(output), _numpy(shapes.digamma())), shapes)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0], output)
    ctx.save_for_forward(inputs[0], output)


def _backward(ctx: Any, grad: Tensor) -> Any:
    return grad * opwright.ops.opwright_draws.standard_gamma_grad(*ctx.saved_tensors), None


def _forward(ctx: Any, tangent: Tensor, _: Any) -> Tensor:
    found: Tensor = tangent * opwright.ops.opwright_draws.standard_gamma_grad(*ctx.saved_tensors)
    return found


def _grads_of_samples(info: Any, in_dims: tuple[int | None, ...], *given: Tensor) -> tuple[Tensor, int]:
    """Return the derivatives for a batch, whose samples come first."""
    moved = [each if dim is None else each.movedim(dim, 0) for each, dim in zip(given, in_dims, strict=True)]
    shapes, output = opwright.broadcast_tensors(*moved)
    found: Tensor = opwright.ops.opwright_draws.standard_gamma_grad(shapes, output)
    return found, 0


for _name, _kernel in (
    ("standard_gamma", _gammas), ("sample_dirichlet", _dirichlets), ("standard_gamma_grad", _gamma_grad)
):  # fmt: skip
    LIBRARY.impl(_name, _kernel, "CompositeExplicitAutograd")
    library.register_fake(
        f"opwright_draws::{_name}", lambda self, *_: opwright.empty_like(self, memory_format=opwright.contiguous_format)
    )
library.register_autograd("opwright_draws::standard_gamma", _backward, setup_context=_keep, jvp=_forward)
library.register_vmap("opwright_draws::standard_gamma_grad", _grads_of_samples)


def _drawn(shapes: Tensor, generator: Generator | None) -> Values:
    if not shapes.is_floating_point():
        raise opwright.DispatchError(f"not implemented for {shapes.dtype}: expected a floating dtype")
    values, source = _numpy(shapes), generator or default_generator
    return np.array([_gamma(each, source) for each in values.ravel().tolist()]).reshape(values.shape)


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
