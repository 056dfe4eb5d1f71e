"""Adaptive pooling, and norms of windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import opwright
from opwright.nn.annotations import A, Ints

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
]

Sizes = int | None | Sequence[int | None]


def _steps(stride: Ints | None) -> Ints:
    """Return the stride for operators, where an empty tuple means the size of the window."""
    return () if stride is None else stride


def _sizes(output_size: Sizes, shape: Sequence[int], ndim: int) -> list[int]:
    """Return the last sizes of the output. None means the size of the input.

    Raises RuntimeError for a wrong number of sizes, ValueError if the input has too few dimensions.
    """
    given = [output_size] * ndim if output_size is None or isinstance(output_size, int) else output_size
    if len(given) != ndim:
        raise RuntimeError(f"output_size must be {ndim} sizes, but got {list(given)}")
    if len(shape) <= ndim:
        raise ValueError(f"the input must have at least {ndim + 1} dimensions, but has {len(shape)}")
    return [have if size is None else size for size, have in zip(given, shape[-ndim:], strict=True)]


def _root(means: A, norm_type: float, kernel_size: Ints, ndim: int) -> A:
    """Return the roots of the sums of powers from their means. Negative means give 0."""
    count = kernel_size**ndim if isinstance(kernel_size, int) else prod(kernel_size)
    positive = opwright.mul(opwright.sign(means), opwright.relu(opwright.abs(means)))
    return opwright.pow(opwright.mul(positive, count), 1 / norm_type)


def adaptive_max_pool1d(input: A, output_size: Sizes, return_indices: bool = False) -> A | tuple[A, A]:
    """Return the maxima of windows, one for each output element, and their positions if `return_indices`."""
    found = adaptive_max_pool1d_with_indices(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool1d_with_indices(input: A, output_size: Sizes, return_indices: bool = False) -> tuple[A, A]:
    """Return the maxima of windows, one for each output element, and their positions."""
    return opwright.adaptive_max_pool1d(input, _sizes(output_size, input.shape, 1))


def lp_pool1d(input: A, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> A:
    """Return the norms of windows over 1 dimension."""
    means = opwright.avg_pool1d(opwright.pow(input, norm_type), kernel_size, _steps(stride), 0, ceil_mode)
    return _root(means, norm_type, kernel_size, 1)


def adaptive_max_pool2d(input: A, output_size: Sizes, return_indices: bool = False) -> A | tuple[A, A]:
    """Return the maxima of windows, one for each output element, and their positions if `return_indices`."""
    found = adaptive_max_pool2d_with_indices(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool2d_with_indices(input: A, output_size: Sizes, return_indices: bool = False) -> tuple[A, A]:
    """Return the maxima of windows, one for each output element, and their positions."""
    return opwright.adaptive_max_pool2d(input, _sizes(output_size, input.shape, 2))


def adaptive_avg_pool2d(input: A, output_size: Sizes) -> A:
    """Return the means of windows, one for each output element."""
    return opwright.adaptive_avg_pool2d(input, _sizes(output_size, input.shape, 2))


def lp_pool2d(input: A, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> A:
    """Return the norms of windows over 2 dimensions."""
    means = opwright.avg_pool2d(opwright.pow(input, norm_type), kernel_size, _steps(stride), 0, ceil_mode)
    return _root(means, norm_type, kernel_size, 2)


def adaptive_max_pool3d(input: A, output_size: Sizes, return_indices: bool = False) -> A | tuple[A, A]:
    """Return the maxima of windows, one for each output element, and their positions if `return_indices`."""
    found = adaptive_max_pool3d_with_indices(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool3d_with_indices(input: A, output_size: Sizes, return_indices: bool = False) -> tuple[A, A]:
    """Return the maxima of windows, one for each output element, and their positions."""
    return opwright.adaptive_max_pool3d(input, _sizes(output_size, input.shape, 3))


def adaptive_avg_pool3d(input: A, output_size: Sizes) -> A:
    """Return the means of windows, one for each output element."""
    return opwright.adaptive_avg_pool3d(input, _sizes(output_size, input.shape, 3))


def lp_pool3d(input: A, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> A:
    """Return the norms of windows over 3 dimensions."""
    means = opwright.avg_pool3d(opwright.pow(input, norm_type), kernel_size, _steps(stride), 0, ceil_mode)
    return _root(means, norm_type, kernel_size, 3)
