"""Backward functions of convolution, pooling and upsampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.core import compiled
from opwright_core.tensors.tensor import wrap
from opwright_kernels.gradients.reductions import add_gradients
from opwright_kernels.images.backward_windows import avg_pool_gradient, max_pool_gradient, repeated_gradient
from opwright_kernels.images.convolution import weight_gradient
from opwright_kernels.plain import arrays_of

Tensor = Any
aten: Any = opwright.ops.aten


# Convolution, and what pooling shares with it


def channel_sums(values: Tensor) -> Tensor:
    """Return what the bias of a convolution gets: the sum of each channel."""
    return aten.sum(values, [0, *range(2, values.ndim)])


def convolution_gradient_backward(
    grads: Sequence[Tensor | None],
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    options: Sequence[Any],
    mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Return the gradients of what `convolution_backward` was given: each of its results is linear in two of them.
    `options` are those of `convolution`."""
    of_input, of_weight, of_bias = grads
    to_grad = to_input = to_weight = None
    if mask[0]:
        if of_input is not None:
            to_grad = aten.convolution(of_input, weight, None, *options)
        if of_weight is not None:
            to_grad = add_gradients(to_grad, aten.convolution(input, of_weight, None, *options))
        if of_bias is not None:
            along = aten.reshape(of_bias, [-1, *[1] * (grad_output.ndim - 2)])
            to_grad = add_gradients(to_grad, along.expand(grad_output.shape))
    if mask[1] and of_weight is not None:
        to_input = aten.convolution_backward(grad_output, input, of_weight, None, *options, [True, False, False])[0]
    if mask[2] and of_input is not None:
        to_weight = aten.convolution_backward(grad_output, of_input, weight, None, *options, [False, True, False])[1]
    return to_grad, to_input, to_weight


def convolution_gradient_forward(
    grad_t: Tensor,
    other_t: Tensor,
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    options: Sequence[Any],
    number: int,
) -> Tensor:
    """Return the tangent of the gradient of the input (0) or of the weight (1); `other_t` is that of the weight, or of
    the input."""
    mask = [number == 0, number == 1, False]
    first = aten.convolution_backward(grad_t, input, weight, None, *options, mask)[number]
    input, weight = (input, other_t) if number == 0 else (other_t, weight)
    return first + aten.convolution_backward(grad_output, input, weight, None, *options, mask)[number]


def for_each(given: Sequence[int] | int, count: int) -> list[int]:
    """Return one number for each dimension; one alone is for all."""
    values = [given] if isinstance(given, int) else list(given)
    return values * count if len(values) == 1 else values


def convolution_weight_backward(
    input: Tensor,
    grad: Tensor,
    shape: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    transposed: bool,
) -> Tensor:
    """Convolve the input with the gradient, over the batch: what was stride is dilation, and the reverse."""
    arrays = arrays_of(input, grad)
    if arrays is not None and arrays[0].size and arrays[1].size and not transposed:
        return wrap(weight_gradient(arrays[0], arrays[1], list(shape), stride, padding, dilation, groups))
    batch, channels, *sizes = input.shape
    each = channels // groups
    first = aten.reshape(input, [batch, groups, each, *sizes])
    first = aten.reshape(aten.permute(first, [2, 1, 0, *range(3, first.ndim)]), [each, groups * batch, *sizes])
    second = aten.transpose(grad, 0, 1)
    none = [0] * len(sizes)
    found = aten.convolution(first, second, None, dilation, padding, stride, False, none, groups)
    found = aten.transpose(found, 0, 1)
    for dim, size in enumerate(shape[2:], 2):
        if found.shape[dim] != size:
            found = aten.narrow(found, dim, 0, size)
    return aten.contiguous(found)


# Pooling


def max_pool_backward(grad: Tensor, shape: Sequence[int], indices: Tensor, dims: int) -> Tensor:
    """Return the gradients of all windows that an element is the maximum of, added."""
    arrays = arrays_of(grad, indices=indices)
    if arrays is not None and arrays[0].size:
        return wrap(max_pool_gradient(arrays[0], list(shape), arrays[1], dims))
    outer = len(shape) - dims
    flat = aten.new_zeros(grad, [*shape[:outer], prod(shape[outer:])])
    positions, values = (_flattened(each, outer) for each in (indices, grad))
    return without_base(aten.reshape(aten.scatter_add(flat, -1, positions, values), shape))


def max_pool_forward(tangent: Tensor, indices: Tensor, dims: int) -> Tensor:
    """Return the tangents of the maxima."""
    outer = tangent.ndim - dims
    found = aten.gather(_flattened(tangent, outer), -1, _flattened(indices, outer))
    return aten.reshape(found, indices.shape)


def _flattened(value: Tensor, outer: int) -> Tensor:
    return aten.reshape(value, [*value.shape[:outer], prod(value.shape[outer:])])


def avg_pool_backward(
    grad: Tensor,
    shape: Sequence[int],
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    count_include_pad: bool,
    divisor_override: int | None,
    dims: int = 2,
) -> Tensor:
    """Return the gradients of all windows that hold an element, each over the size of the window, added: a transposed
    convolution with ones, channel by channel."""
    kernel, padding = for_each(kernel_size, dims), for_each(padding, dims)
    stride = for_each(stride, dims) if len(stride) else kernel
    arrays = arrays_of(grad)
    if arrays is not None and arrays[0].size:
        options = (kernel, stride, padding, count_include_pad, divisor_override)
        return wrap(avg_pool_gradient(arrays[0], list(shape), *options))
    sizes = shape[-dims:]
    if divisor_override is not None:
        grad = grad / divisor_override
    else:
        for dim, parts in enumerate(zip(sizes, kernel, stride, padding, strict=True), -dims):
            grad = grad / _window_sizes(grad, dim, *parts, count_include_pad)
    flat = aten.reshape(grad, [prod(shape[:-dims]), 1, *grad.shape[-dims:]])
    ones = aten.new_ones(grad, [1, 1, *kernel])
    none, one = [0] * dims, [1] * dims
    found = aten.convolution(flat, ones, None, stride, none, one, True, none, 1)
    pad = []
    for size, before, have in zip(sizes, padding, found.shape[2:], strict=True):
        pad.append((-before, size + before - have))
    found = aten.constant_pad_nd(found, [each for ends in reversed(pad) for each in ends], 0)
    return aten.reshape(found, shape)


def _window_sizes(
    grad: Tensor, dim: int, size: int, kernel: int, stride: int, padding: int, count_include_pad: bool
) -> Tensor:
    """Return how many elements each window of a dimension holds, shaped to divide by."""
    start = aten.arange(grad.shape[dim], device=grad.device) * stride - padding
    end = aten.clamp_max(start + kernel, size + padding)
    if not count_include_pad:
        start, end = aten.clamp_min(start, 0), aten.clamp_max(end, size)
    return aten.reshape(end - start, [-1, *[1] * (-dim - 1)])


@compiled
def adaptive_avg_pool_backward(grad: Tensor, shape: Sequence[int], dims: int = 2) -> Tensor:
    """Apply the transposed operator: averaging is linear, and each dimension is averaged for itself."""
    return _transposed_by_dimension(grad, shape, dims, _averages)


def _averages(identity: Tensor, size: int) -> Tensor:
    return aten.adaptive_avg_pool1d(identity, [size])


# Images of another size


def _transposed_by_dimension(
    grad: Tensor, shape: Sequence[int], dims: int, along: Callable[..., Tensor], options: Sequence[tuple[Any, ...]] = ()
) -> Tensor:
    """Apply the transpose of a linear operator that works on each dimension for itself.

    `along(identity, size, *options[position])` is that operator on one dimension: what it makes of each unit vector is
    its matrix.
    """
    arrays = arrays_of(grad)
    for position in range(dims):
        dim = len(shape) - dims + position
        call = (along, shape[dim], grad.shape[dim], options[position] if options else ())
        if arrays is not None:
            matrix = wrap(_matrix_array(*call, as_dtype(grad.dtype)))
        else:
            matrix = _matrix(*call, grad.dtype, grad.device)
        if dim == len(shape) - 1:
            grad = aten.matmul(grad, aten.t(matrix))
        else:
            grad = aten.movedim(aten.matmul(aten.movedim(grad, dim, -1), aten.t(matrix)), -1, dim)
    return grad


def _matrix(
    along: Callable[..., Tensor], size: int, count: int, options: tuple[Any, ...], dtype: Any, device: Any
) -> Tensor:
    identity = aten.unsqueeze(aten.eye(size, dtype=dtype, device=device), 0)
    return aten.squeeze(along(identity, count, *options), 0)


@lru_cache(256)
def _matrix_array(along: Callable[..., Tensor], size: int, count: int, options: tuple[Any, ...], dtype: Any) -> Any:
    """Return the array of a matrix on the fast path. Nobody writes to it."""
    return aten.contiguous(_matrix(along, size, count, options, dtype, None)).array


def _repeated_gradient(grad: Tensor, shape: Sequence[int], scales: Sequence[float | None]) -> Tensor | None:
    """Return the gradient where each element was repeated as often, of arrays on the fast path."""
    sizes = zip(shape[2:], grad.shape[2:], scales, strict=True)
    if any(scale is not None and scale * size != wanted for size, wanted, scale in sizes):
        return None
    arrays = arrays_of(grad)
    found = repeated_gradient(arrays[0], shape) if arrays is not None and arrays[0].size else None
    return None if found is None else wrap(found)


def upsample_nearest_backward(grad: Tensor, shape: Sequence[int], scales: Sequence[float | None]) -> Tensor:
    """Apply the transpose of `upsample_nearest`."""
    found = _repeated_gradient(grad, shape, scales)
    return _resized_back(grad, shape, _nearest, scales) if found is None else found


def upsample_nearest_exact_backward(grad: Tensor, shape: Sequence[int], scales: Sequence[float | None]) -> Tensor:
    """Apply the transpose of `upsample_nearest_exact`."""
    found = _repeated_gradient(grad, shape, scales)
    return _resized_back(grad, shape, _nearest_exact, scales) if found is None else found


def upsample_linear_backward(
    grad: Tensor, shape: Sequence[int], align_corners: bool, scales: Sequence[float | None]
) -> Tensor:
    """Apply the transpose of `upsample_linear`."""
    return _resized_back(grad, shape, _linear, scales, align_corners)


def upsample_cubic_backward(
    grad: Tensor, shape: Sequence[int], align_corners: bool, scales: Sequence[float | None]
) -> Tensor:
    """Apply the transpose of `upsample_cubic`, from images of one row."""
    return _resized_back(grad, shape, _in_rows, scales, "upsample_bicubic2d", align_corners)


def upsample_antialiased_backward(
    grad: Tensor, shape: Sequence[int], mode: str, align_corners: bool, scales: Sequence[float | None]
) -> Tensor:
    """Apply the transpose of an operator that resizes without aliasing, from images of one row."""
    return _resized_back(grad, shape, _in_rows, scales, f"_upsample_{mode}2d_aa", align_corners)


def _resized_back(
    grad: Tensor, shape: Sequence[int], along: Callable[..., Tensor], scales: Sequence[float | None], *options: Any
) -> Tensor:
    return _transposed_by_dimension(grad, shape, len(scales), along, [(*options, scale) for scale in scales])


def _nearest(identity: Tensor, size: int, scale: float | None) -> Tensor:
    return aten.upsample_nearest1d(identity, [size], scale)


def _nearest_exact(identity: Tensor, size: int, scale: float | None) -> Tensor:
    return aten._upsample_nearest_exact1d(identity, [size], scale)


def _linear(identity: Tensor, size: int, align_corners: bool, scale: float | None) -> Tensor:
    return aten.upsample_linear1d(identity, [size], align_corners, scale)


def _in_rows(identity: Tensor, size: int, name: str, align_corners: bool, scale: float | None) -> Tensor:
    rows = aten.unsqueeze(identity, -2)
    return aten.squeeze(getattr(aten, name)(rows, [1, size], align_corners, None, scale), -2)
