"""Tangents of results, where they are more than a line: of reductions, losses and normalizations.

A tangent that is None stands for zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.arrays.dtypes import COMPLEX, as_dtype
from opwright_kernels.gradients.decompositions import distance_backward
from opwright_kernels.gradients.losses import MEAN, multi_margin_loss_backward, multilabel_margin_loss_backward
from opwright_kernels.gradients.nn import statistics
from opwright_kernels.gradients.pointwise import real_part_for
from opwright_kernels.gradients.reductions import var_backward
from opwright_kernels.gradients.shapes import logarithm

Tensor = Any
aten = opwright.ops.aten


def reduced_forward(
    slope: Tensor, tangent: Tensor, result: Tensor, dim: Any = None, keepdim: bool = False
) -> Tensor:  # fmt: skip
    """Return the tangent of a reduction, from the gradient that each element gets of a result's 1."""
    product = aten.conj(slope) * tangent
    total = aten.sum(product) if dim is None or dim == [] else aten.sum(product, dim, keepdim)
    return real_part_for(result.dtype, total).reshape(result.shape)


def distance_forward(tangent: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    """Return the tangent of the distances of each row of `x1` from each of `x2`, from that of their difference."""
    return (distance_backward(aten.ones_like(result), x1, x2, p, result) * tangent).sum(-1)


def cumprod_forward(tangent: Tensor, x: Tensor, dim: int) -> Tensor:
    """Return the tangent of `cumprod`, element by element, as the product grows, since the elements may be 0."""
    if not x.ndim or not x.shape[dim]:
        return tangent
    product: Any = None
    found: list[Any] = []
    for value, change in zip(aten.unbind(x, dim), aten.unbind(tangent, dim), strict=True):
        found.append(change if product is None else found[-1] * value + product * change)
        product = value if product is None else product * value
    return aten.stack(found, dim)


def logcumsumexp_forward(tangent: Tensor, x: Tensor, dim: int) -> Tensor:
    """Return the mean of the tangents so far, weighted by exp(x) over that of the largest x, which does not overflow.

    Not by exp(x - result): where x is so large that the result is as well x, each weight would be 1.
    """
    if not x.ndim or not x.shape[dim]:
        return tangent
    found: list[Any] = []
    largest: Any = None
    total: Any = 0
    product: Any = 0
    for value, change in zip(aten.unbind(x, dim), aten.unbind(tangent, dim), strict=True):
        real = (aten.real(value) if as_dtype(value.dtype) in COMPLEX else value).detach()
        before, largest = largest, real if largest is None else aten.maximum(largest, real)
        weight = aten.exp(value - largest)
        if before is not None:
            shrunk = aten.exp(before - largest)
            total, product = total * shrunk, product * shrunk
        total, product = total + weight, product + weight * change
        found.append(product / total)
    return aten.stack(found, dim)


def std_forward(
    tangent: Tensor, x: Tensor, result: Tensor, dim: Any, correction: Any, keepdim: bool
) -> Tensor:  # fmt: skip
    """Return the variance's tangent over twice the deviation; 0 where there is no deviation, NaN where that is NaN."""
    slope = var_backward(aten.ones_like(result), x, dim, correction, keepdim)
    assert slope is not None  # there is a gradient
    change = reduced_forward(slope, tangent, result, dim, keepdim)
    return aten.where(result == 0, 0, change / (2 * result))


def logspace_forward(tangent: Tensor, result: Tensor, base: float) -> Tensor:
    """Return the tangent of powers of `base`, from the tangents of the exponents."""
    return result * logarithm(base) * tangent


def glu_forward(tangent: Tensor, x: Tensor, dim: int) -> Tensor:
    """Return the tangent of a·sigmoid(b), the halves of x."""
    half = x.shape[dim] // 2
    (a, b), (a_t, b_t) = (
        (aten.narrow(each, dim, 0, half), aten.narrow(each, dim, half, half)) for each in (x, tangent)
    )
    share = aten.sigmoid(b)
    return a_t * share + a * share * aten.sigmoid(-b) * b_t


def loss_forward(tangent: Tensor, slope: Tensor | float, weight: Tensor | None, reduction: int) -> Tensor:
    """Return the tangent of a loss that is the mean or sum of its elements, from the slope of each."""
    change = tangent * slope if weight is None else tangent * slope * weight
    if not reduction:
        return change
    return aten.mean(change) if reduction == MEAN else aten.sum(change)


def multi_margin_loss_forward(
    tangent: Tensor, x: Tensor, target: Tensor, p: float, margin: float, weight: Tensor | None, reduction: int
) -> Tensor:
    """Return the tangent of the loss of each row, or of their mean or sum."""
    slope = multi_margin_loss_backward(aten.new_ones(x, x.shape[:-1]), x, target, p, margin, weight, 0)
    return loss_forward((tangent * slope).sum(-1), 1.0, None, reduction)


def multilabel_margin_loss_forward(
    tangent: Tensor, x: Tensor, target: Tensor, reduction: int, is_target: Tensor
) -> Tensor:
    """Return the tangent of the loss of each row, or of their mean or sum."""
    slope = multilabel_margin_loss_backward(aten.new_ones(x, x.shape[:-1]), x, target, 0, is_target)
    return loss_forward((tangent * slope).sum(-1), 1.0, None, reduction)


def normalized_forward(
    tangent: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, dims: Sequence[int], *, follows: bool
) -> tuple[Tensor, Tensor]:
    """Return normalized values and their tangent; where the statistics follow the input, these change, too."""
    centred = (input - mean) * rstd
    change = tangent * rstd
    if follows:
        dims = list(dims)
        change = change - aten.mean(change, dims, True) - centred * aten.mean(change * centred, dims, True)
    return centred, change


def affine_forward(
    centred: Tensor, change: Tensor | None, weight: Tensor | None, weight_t: Tensor | None, bias_t: Tensor | None
) -> Tensor:
    """Return the tangent of weight·centred + bias, all of one number of dimensions."""
    found = change if change is None or weight is None else change * weight
    for term in (None if weight_t is None else centred * weight_t, bias_t):
        found = term if found is None else found if term is None else found + term
    return found


def batch_norm_forward(
    tangent: Tensor, input: Tensor, weight: Tensor | None, weight_t: Tensor | None, bias_t: Tensor | None,
    running_mean: Tensor | None, running_var: Tensor | None, training: bool, eps: float,
) -> Tensor:  # fmt: skip
    """Return the tangent of native_batch_norm's first result; without training the statistics are constants."""
    shape = [1, -1, *[1] * (input.ndim - 2)]
    dims = [position for position in range(input.ndim) if position != 1]
    if training or running_mean is None or running_var is None:
        mean, rstd = statistics(input, dims, eps, input.dtype)
    else:
        mean, rstd = running_mean, aten.rsqrt(running_var + eps)
    mean, rstd = aten.reshape(mean, shape), aten.reshape(rstd, shape)
    follows = training or running_mean is None
    centred, change = normalized_forward(tangent, input, mean, rstd, dims, follows=follows)
    return affine_forward(centred, change, *_reshaped((weight, weight_t, bias_t), shape))


def layer_norm_forward(
    tangent: Tensor, input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, weight_t: Tensor | None,
    bias_t: Tensor | None, eps: float,
) -> Tensor:  # fmt: skip
    """Return the tangent of native_layer_norm's first result."""
    dims = range(input.ndim - len(normalized_shape), input.ndim)
    mean, rstd = statistics(input, dims, eps, input.dtype)
    centred, change = normalized_forward(tangent, input, mean, rstd, dims, follows=True)
    return affine_forward(centred, change, weight, weight_t, bias_t)


def group_norm_forward(
    tangent: Tensor, input: Tensor, weight: Tensor | None, weight_t: Tensor | None, bias_t: Tensor | None,
    mean: Tensor, rstd: Tensor, sizes: Sequence[int], group: int,
) -> Tensor:  # fmt: skip
    """Return the tangent of native_group_norm's first result. `sizes` are N, C and HxW."""
    count, channels, area = sizes
    inner, outer = [count, group, channels // group, area], [count, group, 1, 1]
    mean, rstd = aten.reshape(mean, outer), aten.reshape(rstd, outer)
    tangent, values = aten.reshape(tangent, inner), aten.reshape(input, inner)
    centred, change = normalized_forward(tangent, values, mean, rstd, (2, 3), follows=True)
    shape = [1, group, channels // group, 1]
    found = affine_forward(centred, change, *_reshaped((weight, weight_t, bias_t), shape))
    return aten.reshape(found, input.shape)


def group_statistics_forward(
    tangent: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, sizes: Sequence[int], group: int
) -> tuple[Tensor, Tensor]:
    """Return the tangents of native_group_norm's other results, the means and inverse deviations."""
    inner, outer = [sizes[0], group, sizes[1] // group * sizes[2]], [sizes[0], group, 1]
    tangent = aten.reshape(tangent, inner)
    rstd = aten.reshape(rstd, outer)
    centred = (aten.reshape(input, inner) - aten.reshape(mean, outer)) * rstd
    rstd_t = -rstd * rstd * aten.mean(centred * tangent, [-1], True)
    return aten.mean(tangent, [-1]), aten.reshape(rstd_t, [sizes[0], group])


def _reshaped(values: Sequence[Tensor | None], shape: Sequence[int]) -> list[Tensor | None]:
    return [None if value is None else aten.reshape(value, list(shape)) for value in values]


def along_channels(values: Tensor, ndim: int) -> Tensor:
    """Return a value for each channel, to be added to a batch of `ndim` dimensions."""
    return aten.reshape(values, [-1, *[1] * (ndim - 2)])
