"""Adaptive pooling, and norms of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def _norms(
    means_of: Callable[..., A], ndim: int, input: A, norm_type: float, size: Ints, stride: Ints | None, ceil_mode: bool
) -> A:
    """Return the roots of the sums of powers over windows, from their means. Negative means give 0."""
    means = means_of(opwright.pow(input, norm_type), size, () if stride is None else stride, 0, ceil_mode)
    count = size**ndim if isinstance(size, int) else prod(size)
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
    return _norms(opwright.avg_pool1d, 1, input, norm_type, kernel_size, stride, ceil_mode)


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
    return _norms(opwright.avg_pool2d, 2, input, norm_type, kernel_size, stride, ceil_mode)


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
    return _norms(opwright.avg_pool3d, 3, input, norm_type, kernel_size, stride, ceil_mode)
