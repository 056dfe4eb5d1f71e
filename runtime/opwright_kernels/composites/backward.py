"""Backward functions that are operators, where these take more than what our own gradients keep: the tensor itself in
place of its shape, and sizes that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright_kernels.gradients.shapes import pad_backward
from opwright_kernels.gradients.windows import (
    adaptive_avg_pool_backward,
    avg_pool_backward,
    max_pool_backward,
    upsample_antialiased_backward,
    upsample_cubic_backward,
    upsample_linear_backward,
    upsample_nearest_backward,
    upsample_nearest_exact_backward,
)

Operand = Any  # a Tensor
Sizes = Sequence[int]
Scale = float | None


# Padding


def reflection_pad_backward(grad_output: Operand, self: Operand, padding: Sizes) -> Operand:
    """Return the gradient of `reflection_pad` over any number of dimensions."""
    return pad_backward(grad_output, self.shape, padding, "reflect")


def replication_pad_backward(grad_output: Operand, self: Operand, padding: Sizes) -> Operand:
    """Return the gradient of `replication_pad` over any number of dimensions."""
    return pad_backward(grad_output, self.shape, padding, "replicate")


# Pooling


def max_pool2d_with_indices_backward(
    grad_output: Operand,
    self: Operand,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    indices: Operand,
) -> Operand:
    """Return the gradient of what `max_pool2d_with_indices` took, from that of its maxima and their places."""
    return max_pool_backward(grad_output, self.shape, indices, 2)


def max_pool3d_with_indices_backward(
    grad_output: Operand,
    self: Operand,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    indices: Operand,
) -> Operand:
    """Return the gradient of what `max_pool3d_with_indices` took, from that of its maxima and their places."""
    return max_pool_backward(grad_output, self.shape, indices, 3)


def adaptive_max_pool2d_backward(grad_output: Operand, self: Operand, indices: Operand) -> Operand:
    """Return the gradient of `adaptive_max_pool2d`."""
    return max_pool_backward(grad_output, self.shape, indices, 2)


def adaptive_max_pool3d_backward(grad_output: Operand, self: Operand, indices: Operand) -> Operand:
    """Return the gradient of `adaptive_max_pool3d`."""
    return max_pool_backward(grad_output, self.shape, indices, 3)


def fractional_max_pool2d_backward(
    grad_output: Operand, self: Operand, kernel_size: Sizes, output_size: Sizes, indices: Operand
) -> Operand:
    """Return the gradient of `fractional_max_pool2d`."""
    return max_pool_backward(grad_output, self.shape, indices, 2)


def fractional_max_pool3d_backward(
    grad_output: Operand, self: Operand, kernel_size: Sizes, output_size: Sizes, indices: Operand
) -> Operand:
    """Return the gradient of `fractional_max_pool3d`."""
    return max_pool_backward(grad_output, self.shape, indices, 3)


def _adaptive_avg_pool2d_backward(grad_output: Operand, self: Operand) -> Operand:
    """Return the gradient of `_adaptive_avg_pool2d`."""
    return adaptive_avg_pool_backward(grad_output, self.shape)


def _adaptive_avg_pool3d_backward(grad_output: Operand, self: Operand) -> Operand:
    """Return the gradient of `_adaptive_avg_pool3d`."""
    return adaptive_avg_pool_backward(grad_output, self.shape, 3)


def avg_pool2d_backward(
    grad_output: Operand,
    self: Operand,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Operand:
    """Return the gradient of `avg_pool2d`."""
    return avg_pool_backward(grad_output, self.shape, kernel_size, stride, padding, count_include_pad, divisor_override)


def avg_pool3d_backward(
    grad_output: Operand,
    self: Operand,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Operand:
    """Return the gradient of `avg_pool3d`."""
    return avg_pool_backward(
        grad_output, self.shape, kernel_size, stride, padding, count_include_pad, divisor_override, 3
    )


# Images of another size, over one, two or three dimensions


def resized_nearest_backward(grad_output: Operand, output_size: Sizes, input_size: Sizes, *scales: Scale) -> Operand:
    """Return the gradient of `upsample_nearest`."""
    return upsample_nearest_backward(grad_output, input_size, scales)


def resized_nearest_exact_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, *scales: Scale
) -> Operand:
    """Return the gradient of `_upsample_nearest_exact`."""
    return upsample_nearest_exact_backward(grad_output, input_size, scales)


def resized_linear_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `upsample_linear`."""
    return upsample_linear_backward(grad_output, input_size, align_corners, scales)


def resized_cubic_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `upsample_bicubic2d`."""
    return upsample_cubic_backward(grad_output, input_size, align_corners, scales)


def resized_bilinear_aa_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `_upsample_bilinear2d_aa`."""
    return upsample_antialiased_backward(grad_output, input_size, "bilinear", align_corners, scales)


def resized_bicubic_aa_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `_upsample_bicubic2d_aa`."""
    return upsample_antialiased_backward(grad_output, input_size, "bicubic", align_corners, scales)
