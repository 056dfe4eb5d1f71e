"""Losses of two arrays, element by element. `reduction` is "none", "mean" or "sum"."""

from __future__ import annotations

import math
import warnings
from typing import Any

import opwright
from opwright.nn.annotations import A, Flag
from opwright.nn.reductions import reduced
from opwright_core.arrays import layouts
from opwright_core.arrays.layouts import same_shape
from opwright_core.dispatch.call.reductions import reduction_number

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "gaussian_nll_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "smooth_l1_loss",
]


def mse_loss(
    input: A,
    target: A,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    weight: A | None = None,
) -> A:
    """Return the squared difference. A weighted mean is divided by the sum of the weights."""
    number = reduction_number(reduction, size_average, reduce)
    input, target = _broadcast(input, target)
    if weight is None:
        return opwright.mse_loss(input, target, number)
    return _weighted(opwright.mse_loss(input, target, 0), weight, number)


def l1_loss(
    input: A,
    target: A,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    weight: A | None = None,
) -> A:
    """Return the absolute difference. A weighted mean is divided by the sum of the weights."""
    number = reduction_number(reduction, size_average, reduce)
    input, target = _broadcast(input, target)
    if weight is None:
        return opwright.l1_loss(input, target, number)
    return _weighted(opwright.l1_loss(input, target, 0), weight, number)


def smooth_l1_loss(
    input: A,
    target: A,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> A:
    """Return the difference d, or d ** 2 / (2 * beta) if it is below `beta`."""
    number = reduction_number(reduction, size_average, reduce)
    input, target = _broadcast(input, target)
    return opwright.smooth_l1_loss(input, target, number, beta) if beta else opwright.l1_loss(input, target, number)


def huber_loss(input: A, target: A, reduction: str = "mean", delta: float = 1.0, weight: A | None = None) -> A:
    """Return half the squared difference, linear above `delta`. A weighted mean counts all elements."""
    number = reduction_number(reduction)
    input, target = _broadcast(input, target)
    if weight is None:
        return opwright.huber_loss(input, target, number, delta)
    losses = opwright.huber_loss(input, target, 0, delta)
    _check_weight(losses, weight)
    return reduced(opwright.mul(losses, weight), number)


def _broadcast(input: A, target: A) -> tuple[A, A]:
    """Return both in their broadcast shape. Warn if their shapes differ."""
    if same_shape(input.shape, target.shape):
        return input, target
    warnings.warn(
        f"Using a target size ({list(target.shape)}) that is different to the input size ({list(input.shape)}). This "
        "will likely lead to incorrect results due to broadcasting.",
        stacklevel=3,
    )
    shape = list(layouts.broadcast_shapes([tuple(input.shape), tuple(target.shape)]))
    return opwright.ops.aten.expand(input, shape), opwright.ops.aten.expand(target, shape)


def _check_weight(input: Any, weight: Any) -> None:
    if not same_shape(weight.shape, input.shape):
        raise ValueError(f"weight and input must have one shape, but have {list(weight.shape)} and {list(input.shape)}")


def _weighted(losses: A, weight: A, number: int) -> A:
    _check_weight(losses, weight)
    weighted = opwright.mul(losses, weight)
    return opwright.div(opwright.sum(weighted), opwright.sum(weight)) if number == 1 else reduced(weighted, number)


def binary_cross_entropy(
    input: A,
    target: A,
    weight: A | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Return -(target * log(input) + (1 - target) * log(1 - input)) of probabilities. Both have the same shape."""
    number = reduction_number(reduction, size_average, reduce)
    _check_one_shape(input, target)
    if weight is not None:
        shape = layouts.broadcast_shapes([tuple(target.shape), tuple(weight.shape)])
        weight = opwright.ops.aten.expand(weight, list(shape))
    return opwright.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: A,
    target: A,
    weight: A | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    pos_weight: A | None = None,
) -> A:
    """Return `binary_cross_entropy` of sigmoid(input), without overflow."""
    number = reduction_number(reduction, size_average, reduce)
    _check_one_shape(input, target)
    return opwright.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def _check_one_shape(input: Any, target: Any) -> None:
    if not same_shape(input.shape, target.shape):
        raise ValueError(f"Target size ({list(target.shape)}) must be the same as input size ({list(input.shape)})")


def kl_div(
    input: A,
    target: A,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> A:
    """Return the divergence from the target of a distribution, given by its logarithms.

    The reduction "batchmean" divides the sum by the batch size, as in the mathematical definition.
    """
    by_batch = reduction == "batchmean"
    number = reduction_number("sum" if by_batch else reduction, size_average, reduce)
    result = opwright.kl_div(input, target, number, log_target=log_target)
    return opwright.div(result, input.shape[0]) if by_batch and len(input.shape) else result


def gaussian_nll_loss(
    input: A, target: A, var: A | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> A:
    """Return minus the logarithm of the normal density of the target. The variance is at least `eps`.

    Raises ValueError if the variance is negative or does not fit the shape of `input`.
    """
    variance = _variance(input, var)
    number = reduction_number(reduction)
    held = opwright.clamp(variance, min=eps)
    distance = opwright.sub(input, target)
    squares = opwright.div(opwright.mul(distance, distance), held)
    losses: A = opwright.mul(opwright.add(opwright.log(held), squares), 0.5)
    if full:
        losses = opwright.add(losses, 0.5 * math.log(2 * math.pi))
    return reduced(losses, number)


def _variance(input: Any, var: Any) -> Any:
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        return opwright.full_like(input, var)
    if bool(opwright.any(opwright.lt(var, 0))):
        raise ValueError("var has negative entry/entries")
    shape, given = tuple(input.shape), tuple(var.shape)
    if same_shape(given, shape):
        return var
    if same_shape(given, shape[:-1]):
        return opwright.unsqueeze(var, -1)
    if len(given) == len(shape) and sum(size for full, size in zip(shape, given, strict=True) if full != size) == 1:
        return var
    raise ValueError(f"var of shape {list(given)} does not fit input of shape {list(shape)}")
