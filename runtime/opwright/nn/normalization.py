"""Normalisation by statistics of a batch, an example, a group of channels or neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import opwright
from opwright.nn.annotations import A
from opwright_core.arrays import layouts
from opwright_core.arrays.sizes import guard_or_false

__all__ = ["batch_norm", "group_norm", "instance_norm", "local_response_norm", "normalize"]


def batch_norm(
    input: A,
    running_mean: A | None,
    running_var: A | None,
    weight: A | None = None,
    bias: A | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> A:
    """Normalise each channel by the batch in training, by the running statistics otherwise.

    Training updates the running statistics. Raises ValueError if a channel has one value in training, or `eps` is not
    positive.
    """
    if training:
        _check_values(list(input.shape))
    if eps < 0 or (training and eps == 0):
        raise ValueError(f"batch_norm eps must be {'positive' if training else 'non-negative'}, but got {eps}")
    return opwright.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: A,
    running_mean: A | None = None,
    running_var: A | None = None,
    weight: A | None = None,
    bias: A | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> A:
    """Normalise each channel of each example. Raises ValueError if a channel has one value."""
    if use_input_stats and guard_or_false(prod(input.shape[2:]) == 1):
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {list(input.shape)}")
    return opwright.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def group_norm(input: A, num_groups: int, weight: A | None = None, bias: A | None = None, eps: float = 1e-5) -> A:
    """Normalise groups of channels of each example. Raises ValueError if a group has one value."""
    if len(input.shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(input.shape)}")
    _check_values([input.shape[0] * input.shape[1] // num_groups, num_groups, *input.shape[2:]])
    return opwright.group_norm(input, num_groups, weight, bias, eps, True)


def _check_values(sizes: Sequence[int]) -> None:
    if guard_or_false(sizes[0] * prod(sizes[2:]) == 1):
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(sizes)}")


def local_response_norm(input: A, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> A:
    """Divide each value by a power of the mean square over the `size` channels around it.

    Raises ValueError if there are fewer than 3 dimensions.
    """
    shape = list(input.shape)
    if len(shape) < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)")
    if layouts.is_empty(tuple(shape)):
        return input
    squares = opwright.mul(input, input)
    if len(shape) == 3:
        padded = opwright.pad(opwright.unsqueeze(squares, 1), [0, 0, size // 2, (size - 1) // 2])
        means = opwright.squeeze(opwright.avg_pool2d(padded, [size, 1], 1), 1)
    else:
        volumes = opwright.ops.aten.view(squares, [shape[0], 1, shape[1], shape[2], -1])
        padded = opwright.pad(volumes, [0, 0, 0, 0, size // 2, (size - 1) // 2])
        means = opwright.squeeze(opwright.avg_pool3d(padded, [size, 1, 1], 1), 1)
        means = opwright.ops.aten.view(means, shape)
    return opwright.div(input, opwright.pow(opwright.add(opwright.mul(means, alpha), k), beta))


def normalize(input: A, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: A | None = None) -> A:
    """Return `input` divided by its p-norm along `dim`. The norm is at least `eps`."""
    length = opwright.clamp(opwright.norm(input, p, dim, True), min=eps)
    return opwright.div(input, length) if out is None else opwright.div(input, length, out=out)
