"""Gradients and tangents of the backward operators of normalisation.

Normalising is the derivative of a number (the deviation, times the count), so its own derivative J is symmetric in two
arguments, and that of J in three: the same two functions give gradients and tangents. The mean and the inverse
deviation are those that the operator was given, but for tangents the mean, as in PyTorch; where gradients are recorded
they follow the input, as derivatives do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import opwright
from opwright_kernels.gradients.reductions import add_gradients

Tensor = Any
Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]
aten = opwright.ops.aten


class Layout(NamedTuple):
    """The dimensions that are normalised together, and how parameters lie along them."""

    inner: list[int]  # the shape in which this is seen
    statistics: list[int]
    dims: list[int]
    parameters: list[int]
    summed: list[int]
    own: list[int]  # the shape of the parameters themselves

    @staticmethod
    def of_layers(input: Tensor, normalized_shape: Sequence[int]) -> Layout:
        """Return the layout of `layer_norm`: the last dimensions are normalised together."""
        first = input.ndim - len(normalized_shape)
        inner, own = list(input.shape), list(normalized_shape)
        statistics = [*inner[:first], *[1] * len(own)]
        return Layout(inner, statistics, list(range(first, input.ndim)), own, list(range(first)), own)

    @staticmethod
    def of_batches(input: Tensor) -> Layout:
        """Return the layout of `batch_norm`: all dimensions but the channels are normalised together."""
        inner = list(input.shape)
        dims = [axis for axis in range(len(inner)) if axis != 1]
        along = [1, inner[1], *[1] * (len(inner) - 2)]
        return Layout(inner, along, dims, along, dims, [inner[1]])

    @staticmethod
    def of_groups(N: int, C: int, HxW: int, group: int) -> Layout:
        """Return the layout of `group_norm`: some channels of an image are normalised together."""
        each = C // group
        return Layout([N, group, each, HxW], [N, group, 1, 1], [2, 3], [1, group, each, 1], [0, 3], [C])

    def along(self, parameter: Tensor | None) -> Tensor | None:
        """Return a parameter in the shape that broadcasts."""
        return None if parameter is None else aten.reshape(parameter, self.parameters)

    def total(self, values: Tensor) -> Tensor:
        """Return the sum that a parameter gets, in its shape."""
        return aten.reshape(aten.sum(values, self.summed) if self.summed else values, self.own)


class Normalized(NamedTuple):
    """An input less its mean, the inverse deviation, and whether these follow the input."""

    centred: Tensor
    rstd: Tensor
    dims: list[int]
    follows: bool

    def changed(self, move: Tensor) -> Tensor:
        """Return J: how normalised values change as the input moves, or its transpose, which is the same."""
        if not self.follows:
            return move * self.rstd
        c, r = self.centred, self.rstd
        return r * (move - self.mean(move) - c * (r * r) * self.mean(move * c))

    def bent(self, one: Tensor, other: Tensor) -> Tensor:
        """Return how J of one move changes as the input makes the other."""
        c, r = self.centred, self.rstd
        of_one, of_other = self.mean(one * c), self.mean(other * c)
        shared = self.mean(one) * self.mean(other) - self.mean(one * other) + 3 * r * r * of_one * of_other
        turned = of_one * (self.mean(other) - other) + of_other * (self.mean(one) - one)
        return r * r * r * (c * shared + turned)

    def mean(self, values: Tensor) -> Tensor:
        """Return the means of what is normalised together."""
        return aten.mean(values, self.dims, True)


def normalized(layout: Layout, input: Tensor, mean: Tensor | None, rstd: Tensor, follows: bool) -> Normalized:
    """Return the input in its layout, less the mean that is given, or else its own."""
    values = aten.reshape(input, layout.inner)
    if mean is None:
        mean = aten.mean(values, layout.dims, True)
    mean, rstd = (aten.to(aten.reshape(each, layout.statistics), input.dtype) for each in (mean, rstd))
    if follows and opwright.is_grad_enabled():
        mean, rstd = following_statistics(values, mean, rstd, layout.dims)
    return Normalized(values - mean, rstd, layout.dims, follows)


def following_statistics(input: Tensor, mean: Tensor, rstd: Tensor, dims: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the same numbers with the history that they would have, had they been computed of the input here."""
    own = aten.mean(input, dims, True)
    distance = input - own
    variance = aten.mean(distance * distance, dims, True)
    return own + aten.detach(mean - own), aten.rsqrt(variance + aten.detach(1 / (rstd * rstd) - variance))


def _gradient_backward(
    layout: Layout,
    grads: Sequence[Tensor | None],
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    found: Normalized,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of a backward operator's gradient, input and weight, from those of its three results."""
    of_input = None if grads[0] is None else aten.reshape(grads[0], layout.inner)
    of_weight, of_bias = layout.along(grads[1]), layout.along(grads[2])
    grad, scale = aten.reshape(grad_out, layout.inner), layout.along(weight)
    to_grad = to_input = to_weight = None
    if of_input is not None:
        changed = found.changed(of_input)
        to_grad = changed if scale is None else changed * scale
        if mask[2] and weight is not None:
            to_weight = layout.total(grad * changed)
        if mask[1] and found.follows:
            to_input = found.bent(of_input, grad if scale is None else grad * scale)
    if of_weight is not None:
        to_grad = add_gradients(to_grad, of_weight * found.centred * found.rstd)
        if mask[1]:
            to_input = add_gradients(to_input, found.changed(grad * of_weight))
    if of_bias is not None:
        to_grad = add_gradients(to_grad, of_bias.expand(layout.inner))
    shaped = [None if each is None else aten.reshape(each, input.shape) for each in (to_grad, to_input)]
    return shaped[0], shaped[1], to_weight


def _gradient_forward(
    layout: Layout,
    grad_t: Tensor,
    input_t: Tensor,
    weight_t: Tensor | None,
    grad_out: Tensor,
    weight: Tensor | None,
    found: Normalized,
    number: int,
) -> Tensor:
    """Return the tangent of one of a backward operator's three results."""
    move, grad = aten.reshape(grad_t, layout.inner), aten.reshape(grad_out, layout.inner)
    if number == 2:
        return layout.total(move)
    turn = aten.reshape(input_t, layout.inner)
    if number == 1:
        return layout.total(move * found.centred * found.rstd + grad * found.changed(turn))
    scaled, along = grad, move
    if weight is not None:
        scale = layout.along(weight)
        scaled, along = grad * scale, move * scale
    if weight_t is not None:
        along = along + grad * layout.along(weight_t)
    total = found.changed(along)
    return aten.reshape(total + found.bent(turn, scaled) if found.follows else total, input_t.shape)


# Layers


def layer_norm_gradient_backward(
    grads: Sequence[Tensor | None],
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `native_layer_norm_backward`."""
    layout = Layout.of_layers(input, normalized_shape)
    found = normalized(layout, input, mean, rstd, True)
    return _gradient_backward(layout, grads, grad_out, input, weight, found, mask)


def layer_norm_gradient_forward(
    grad_t: Tensor,
    input_t: Tensor,
    weight_t: Tensor | None,
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    number: int,
) -> Tensor:
    """Return the tangent of one result of `native_layer_norm_backward`."""
    layout = Layout.of_layers(input, normalized_shape)
    found = normalized(layout, input, None, rstd, True)
    return _gradient_forward(layout, grad_t, input_t, weight_t, grad_out, weight, found, number)


# Batches


def _of_batches(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Tensor | None,
    rstd: Tensor | None,
    train: bool,
    eps: float,
) -> tuple[Layout, Normalized]:
    if not train and running_mean is not None and running_var is not None:
        mean, rstd = running_mean, aten.rsqrt(running_var + eps)
    layout = Layout.of_batches(input)
    return layout, normalized(layout, input, mean, rstd, train)


def batch_norm_gradient_backward(
    grads: Sequence[Tensor | None],
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Tensor | None,
    rstd: Tensor | None,
    train: bool,
    eps: float,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `native_batch_norm_backward`; without training the statistics are constants."""
    layout, found = _of_batches(input, running_mean, running_var, mean, rstd, train, eps)
    return _gradient_backward(layout, grads, grad_out, input, weight, found, mask)


def batch_norm_gradient_forward(
    grad_t: Tensor,
    input_t: Tensor,
    weight_t: Tensor | None,
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Tensor | None,
    rstd: Tensor | None,
    train: bool,
    eps: float,
    number: int,
) -> Tensor:
    """Return the tangent of one result of `native_batch_norm_backward`."""
    layout, found = _of_batches(input, running_mean, running_var, None if train else mean, rstd, train, eps)
    return _gradient_forward(layout, grad_t, input_t, weight_t, grad_out, weight, found, number)


# Groups


def group_norm_gradient_backward(
    grads: Sequence[Tensor | None],
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `native_group_norm_backward`."""
    layout = Layout.of_groups(N, C, HxW, group)
    found = normalized(layout, input, mean, rstd, True)
    return _gradient_backward(layout, grads, grad_out, input, weight, found, mask)


def group_norm_gradient_forward(
    grad_t: Tensor,
    input_t: Tensor,
    weight_t: Tensor | None,
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    number: int,
) -> Tensor:
    """Return the tangent of one result of `native_group_norm_backward`."""
    layout = Layout.of_groups(N, C, HxW, group)
    found = normalized(layout, input, None, rstd, True)
    return _gradient_forward(layout, grad_t, input_t, weight_t, grad_out, weight, found, number)
