"""The backward operators of convolution, padding, pooling and images of another size: they take the tensor itself
where our own gradients keep its shape, and more numbers than are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.view_layouts import without_base
from opwright_kernels.gradients.shapes import pad_backward
from opwright_kernels.gradients.windows import (
    adaptive_avg_pool_backward,
    avg_pool_backward,
    channel_sums,
    convolution_weight_backward,
    for_each,
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


# Convolution


def convolution_backward(
    grad_output: Operand,
    input: Operand,
    weight: Operand,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Operand | None, Operand | None, Operand | None]:
    """Return the gradients of input, weight and bias; the first is the other convolution with the same weight."""
    aten = opwright.ops.aten
    grad = grad_output
    of_input = of_weight = of_bias = None
    count = input.ndim - 2
    stride, padding, dilation = (for_each(given, count) for given in (stride, padding, dilation))
    if output_mask[0] and transposed:
        none = [0] * count
        of_input = aten.convolution(grad, aten.conj(weight), None, stride, padding, dilation, False, none, groups)
        for position, size in enumerate(input.shape[2:], 2):  # output_padding of a whole stride makes more of it
            of_input = of_input if of_input.shape[position] == size else aten.narrow(of_input, position, 0, size)
    elif output_mask[0]:
        sizes = zip(input.shape[2:], grad.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
        rest = [n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for n, m, k, s, p, d in sizes]
        of_input = aten.convolution(grad, aten.conj(weight), None, stride, padding, dilation, True, rest, groups)
    if output_mask[1]:
        first, second = (grad, aten.conj(input)) if transposed else (aten.conj(input), grad)
        of_weight = convolution_weight_backward(
            first, second, weight.shape, stride, padding, dilation, groups, transposed
        )
    if output_mask[2]:
        of_bias = channel_sums(grad)
    return of_input, of_weight, of_bias


# Padding


def reflection_pad_backward(grad_output: Operand, self: Operand, padding: Sizes) -> Operand:
    """Return the gradient of `reflection_pad` over any number of dimensions."""
    return _padded_backward(grad_output, self, padding, "reflect")


def replication_pad_backward(grad_output: Operand, self: Operand, padding: Sizes) -> Operand:
    """Return the gradient of `replication_pad` over any number of dimensions."""
    return _padded_backward(grad_output, self, padding, "replicate")


def _padded_backward(grad_output: Operand, self: Operand, padding: Sizes, mode: str) -> Operand:
    found = pad_backward(grad_output, self.shape, padding, mode)
    return opwright.ops.aten.clone(found) if found is grad_output else found  # no padding at all


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
    return _new(adaptive_avg_pool_backward(grad_output, self.shape))


def _adaptive_avg_pool3d_backward(grad_output: Operand, self: Operand) -> Operand:
    """Return the gradient of `_adaptive_avg_pool3d`."""
    return _new(adaptive_avg_pool_backward(grad_output, self.shape, 3))


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
    return _averages_backward(
        grad_output, self.shape, kernel_size, stride, padding, count_include_pad, divisor_override, 2
    )


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
    return _averages_backward(
        grad_output, self.shape, kernel_size, stride, padding, count_include_pad, divisor_override, 3
    )


def _averages_backward(grad: Operand, shape: Sizes, kernel_size: Sizes, *options: Any) -> Operand:
    try:
        return avg_pool_backward(grad, shape, kernel_size, *options)
    except OverflowError:
        raise RuntimeError(f"windows of {list(kernel_size)} do not fit an image of {list(shape)}") from None


# Images of another size, over one, two or three dimensions


def resized_nearest_backward(grad_output: Operand, output_size: Sizes, input_size: Sizes, *scales: Scale) -> Operand:
    """Return the gradient of `upsample_nearest`."""
    return _new(upsample_nearest_backward(grad_output, input_size, scales))


def resized_nearest_exact_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, *scales: Scale
) -> Operand:
    """Return the gradient of `_upsample_nearest_exact`."""
    return _new(upsample_nearest_exact_backward(grad_output, input_size, scales))


def resized_linear_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `upsample_linear`."""
    return _new(upsample_linear_backward(grad_output, input_size, align_corners, scales))


def resized_cubic_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `upsample_bicubic2d`."""
    return _new(upsample_cubic_backward(grad_output, input_size, align_corners, scales))


def resized_bilinear_aa_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `_upsample_bilinear2d_aa`."""
    return _new(upsample_antialiased_backward(grad_output, input_size, "bilinear", align_corners, scales))


def resized_bicubic_aa_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `_upsample_bicubic2d_aa`."""
    return _new(upsample_antialiased_backward(grad_output, input_size, "bicubic", align_corners, scales))


def _new(gradient: Operand) -> Operand:
    """Return a gradient that may be a view of a product, row by row and as no view."""
    return without_base(opwright.ops.aten.contiguous(gradient))
