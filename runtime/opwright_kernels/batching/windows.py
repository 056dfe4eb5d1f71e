"""Maxima of windows at random positions, and images sampled at positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_kernels.batching.operands import Operand, every, rank

__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]

Numbers = Sequence[int]


def fractional_max_pool2d(
    info: Any, in_dims: Any, self: Operand, kernel_size: Numbers, output_size: Numbers, random_samples: Operand
) -> Any:
    """Return the largest elements of windows, and their positions: samples are images of one batch."""
    return _fractional(
        info, in_dims, opwright.ops.aten.fractional_max_pool2d, self, kernel_size, output_size, random_samples
    )


def fractional_max_pool3d(
    info: Any, in_dims: Any, self: Operand, kernel_size: Numbers, output_size: Numbers, random_samples: Operand
) -> Any:
    """Return the largest elements of windows, and their positions: samples are volumes of one batch."""
    return _fractional(
        info, in_dims, opwright.ops.aten.fractional_max_pool3d, self, kernel_size, output_size, random_samples
    )


def _fractional(
    info: Any, in_dims: Any, pool: Any, self: Operand, kernel_size: Numbers, output_size: Numbers, samples: Operand
) -> Any:
    images, numbers = every(info, self, in_dims[0]), every(info, samples, in_dims[3])
    has_images = rank(self, in_dims[0]) == len(kernel_size) + 2
    per_sample = images.shape[1] if has_images else 1
    numbers = opwright.ops.aten.narrow(numbers, 1, 0, min(per_sample, numbers.shape[1]))
    images = images.reshape([-1, *images.shape[2:]]) if has_images else images
    numbers = numbers.reshape([-1, *numbers.shape[2:]])
    found = pool(images, kernel_size, output_size, numbers)
    if has_images:
        found = tuple([each.reshape([info.batch_size, per_sample, *each.shape[1:]]) for each in found])
    return tuple(found), (0, 0)
