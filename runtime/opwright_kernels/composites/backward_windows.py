"""The backward operators of convolution, padding, pooling and images of another size: they take the tensor itself
where our own gradients keep its shape, and more numbers than are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base
from opwright_core.arrays.sizes import holds
from opwright_core.core import compiled
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
from opwright_kernels.rules.convolution import convolved_shape
from opwright_kernels.rules.padding import padded_shape

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
    """Return the gradients of input, weight and bias; the first is the other convolution with the same weight.

    Raises RuntimeError for sizes that do not fit."""
    wanted = convolved_shape(input, weight, stride, padding, dilation, transposed, output_padding, groups)
    if grad_output.ndim != len(wanted) or not _are_equal(grad_output.shape, wanted):
        raise RuntimeError(f"grad_output must have shape {list(wanted)}, but has {list(grad_output.shape)}")
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


@compiled
def reflection_pad_backward(grad_output: Operand, self: Operand, padding: Sizes) -> Operand:
    """Return the gradient of `reflection_pad` over any number of dimensions."""
    return _padded_backward(grad_output, self, padding, "reflect")


@compiled
def replication_pad_backward(grad_output: Operand, self: Operand, padding: Sizes) -> Operand:
    """Return the gradient of `replication_pad` over any number of dimensions."""
    return _padded_backward(grad_output, self, padding, "replicate")


def _padded_backward(grad_output: Operand, self: Operand, padding: Sizes, mode: str) -> Operand:
    if not padding or len(padding) % 2:
        raise RuntimeError(f"padding must have two ints for each dimension of an image, but got {list(padding)}")
    _check_images(len(padding) // 2, grad_output, self)
    wanted = padded_shape(self.shape, padding)
    if not _are_equal(grad_output.shape, wanted):
        raise RuntimeError(f"grad_output must have shape {list(wanted)}, but has {list(grad_output.shape)}")
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
    return _maxima_backward(grad_output, self, indices, 2)


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
    return _maxima_backward(grad_output, self, indices, 3)


@compiled
def adaptive_max_pool2d_backward(grad_output: Operand, self: Operand, indices: Operand) -> Operand:
    """Return the gradient of `adaptive_max_pool2d`."""
    return _maxima_backward(grad_output, self, indices, 2)


@compiled
def adaptive_max_pool3d_backward(grad_output: Operand, self: Operand, indices: Operand) -> Operand:
    """Return the gradient of `adaptive_max_pool3d`."""
    return _maxima_backward(grad_output, self, indices, 3)


@compiled
def fractional_max_pool2d_backward(
    grad_output: Operand, self: Operand, kernel_size: Sizes, output_size: Sizes, indices: Operand
) -> Operand:
    """Return the gradient of `fractional_max_pool2d`."""
    return _maxima_backward(grad_output, self, indices, 2)


@compiled
def fractional_max_pool3d_backward(
    grad_output: Operand, self: Operand, kernel_size: Sizes, output_size: Sizes, indices: Operand
) -> Operand:
    """Return the gradient of `fractional_max_pool3d`."""
    return _maxima_backward(grad_output, self, indices, 3)


@compiled
def _adaptive_avg_pool2d_backward(grad_output: Operand, self: Operand) -> Operand:
    """Return the gradient of `_adaptive_avg_pool2d`."""
    _check_images(2, grad_output, self)
    return _new(adaptive_avg_pool_backward(grad_output, self.shape))


@compiled
def _adaptive_avg_pool3d_backward(grad_output: Operand, self: Operand) -> Operand:
    """Return the gradient of `_adaptive_avg_pool3d`."""
    _check_images(3, grad_output, self)
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
    return _averages_backward(grad_output, self, kernel_size, stride, padding, count_include_pad, divisor_override, 2)


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
    return _averages_backward(grad_output, self, kernel_size, stride, padding, count_include_pad, divisor_override, 3)


def _averages_backward(grad: Operand, self: Operand, kernel_size: Sizes, *options: Any) -> Operand:
    _check_images(options[-1], grad, self)
    try:
        return avg_pool_backward(grad, self.shape, kernel_size, *options)
    except OverflowError:
        raise RuntimeError(f"windows of {list(kernel_size)} do not fit an image of {list(self.shape)}") from None


def _maxima_backward(grad: Operand, self: Operand, indices: Operand, dims: int) -> Operand:
    _check_images(dims, grad, self)
    if indices.ndim != grad.ndim or not _are_equal(indices.shape, grad.shape):
        raise RuntimeError(
            f"indices must have the shape of grad_output, {list(grad.shape)}, but have {list(indices.shape)}"
        )
    return max_pool_backward(grad, self.shape, indices, dims)


def _check_images(dims: int, grad: Operand, self: Operand) -> None:
    """Raise RuntimeError unless both are images of `dims` dimensions with the same channels, and the same batch, or
    none."""
    if self.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"expected {dims + 1} dimensions, or {dims + 2} with a batch, but self has shape {list(self.shape)}"
        )
    if grad.ndim != self.ndim or not _are_equal(grad.shape[:-dims], self.shape[:-dims]):
        raise RuntimeError(
            f"grad_output must have the batch and channels of self, but they have shapes {list(grad.shape)} and "
            f"{list(self.shape)}"
        )


def _are_equal(one: Sizes, other: Sizes) -> bool:
    return False not in [a is b or holds(a == b) for a, b in zip(one, other, strict=True)]


# Images of another size, over one, two or three dimensions


@compiled
def resized_nearest_backward(grad_output: Operand, output_size: Sizes, input_size: Sizes, *scales: Scale) -> Operand:
    """Return the gradient of `upsample_nearest`."""
    _check_resized(grad_output, output_size, input_size, len(scales))
    return _new(upsample_nearest_backward(grad_output, input_size, scales))


@compiled
def resized_nearest_exact_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, *scales: Scale
) -> Operand:
    """Return the gradient of `_upsample_nearest_exact`."""
    _check_resized(grad_output, output_size, input_size, len(scales))
    return _new(upsample_nearest_exact_backward(grad_output, input_size, scales))


@compiled
def resized_linear_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `upsample_linear`."""
    _check_resized(grad_output, output_size, input_size, len(scales))
    return _new(upsample_linear_backward(grad_output, input_size, align_corners, scales))


@compiled
def resized_cubic_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `upsample_bicubic2d`."""
    _check_resized(grad_output, output_size, input_size, len(scales))
    return _new(upsample_cubic_backward(grad_output, input_size, align_corners, scales))


@compiled
def resized_bilinear_aa_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `_upsample_bilinear2d_aa`."""
    _check_resized(grad_output, output_size, input_size, len(scales))
    return _new(upsample_antialiased_backward(grad_output, input_size, "bilinear", align_corners, scales))


@compiled
def resized_bicubic_aa_backward(
    grad_output: Operand, output_size: Sizes, input_size: Sizes, align_corners: bool, *scales: Scale
) -> Operand:
    """Return the gradient of `_upsample_bicubic2d_aa`."""
    _check_resized(grad_output, output_size, input_size, len(scales))
    return _new(upsample_antialiased_backward(grad_output, input_size, "bicubic", align_corners, scales))


def _check_resized(grad: Operand, output_size: Sizes, input_size: Sizes, dims: int) -> None:
    """Raise RuntimeError unless the gradient is one of the resized input."""
    if len(output_size) != dims or len(input_size) != dims + 2:
        raise RuntimeError(
            f"expected {dims} ints of output_size and {dims + 2} of input_size, but got {list(output_size)} and "
            f"{list(input_size)}"
        )
    wanted = [*input_size[:2], *output_size]
    if grad.ndim != dims + 2 or not _are_equal(grad.shape, wanted):
        raise RuntimeError(f"grad_output must have shape {wanted}, but has {list(grad.shape)}")
    if not all(holds(size >= 1) for size in (*input_size[2:], *output_size)):
        raise RuntimeError(
            f"input and output sizes should be greater than 0, but got {list(input_size[2:])} and {list(output_size)}"
        )


def _new(gradient: Operand) -> Operand:
    """Return a gradient that may be a view of a product, row by row and as no view."""
    return without_base(opwright.ops.aten.contiguous(gradient))
