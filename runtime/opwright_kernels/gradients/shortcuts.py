"""Backward operators, without the operator where nobody would see it: no mode is on, and nothing is recorded.
Everything else calls the operator, which traces show.

That saves what the operator would cost a small gradient: lists of bools to be converted, factories called below
autograd, memory laid out anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.autograd.quick import is_array_alone
from opwright_core.tensors.tensor import wrap
from opwright_kernels import backward
from opwright_kernels.composites import backward_norms, backward_rows, backward_windows
from opwright_kernels.gradients.windows import (
    adaptive_avg_pool_backward,
    upsample_antialiased_backward,
    upsample_cubic_backward,
    upsample_linear_backward,
    upsample_nearest_backward,
    upsample_nearest_exact_backward,
)
from opwright_kernels.images.backward_windows import max_pool_gradient
from opwright_kernels.plain import arrays_of, dense_arrays

Tensor = Any
Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]
aten: Any = opwright.ops.aten


Sizes = Sequence[int]
Scales = Sequence[float | None]


# Activations


def gradient_of_elu(grad: Tensor, self: Tensor, alpha: Any, scale: Any, input_scale: Any) -> Tensor:
    """Return the gradient of `elu`."""
    found = dense_arrays(grad, self)
    if found is None or isinstance(alpha, complex):
        return aten.elu_backward(grad, alpha, scale, input_scale, False, self)
    return wrap(backward.elu_gradient(found[0], found[1], input_scale * alpha * scale, scale, input_scale))


def gradient_of_softmax(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """Return the gradient of `softmax`, in the dtype of its result."""
    found = dense_arrays(grad, result)
    if found is not None and dim in (-1, result.ndim - 1) and result.ndim:
        return wrap(backward.softmax_gradient(found[0], found[1]))
    return aten._softmax_backward_data(grad, result, dim, result.dtype)


def gradient_of_log_softmax(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """Return the gradient of `log_softmax`, in the dtype of its result."""
    found = dense_arrays(grad, result)
    if found is not None and dim in (-1, result.ndim - 1) and result.ndim:
        return wrap(backward.log_softmax_gradient(found[0], found[1]))
    return aten._log_softmax_backward_data(grad, result, dim, result.dtype)


# Normalisation and embeddings


def gradients_of_layer_norm(
    grad: Tensor,
    input: Tensor,
    normalized_shape: Sizes,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `native_layer_norm`; its bias is not needed."""
    arrays = dense_arrays(grad, input, weight, mean, rstd)
    if arrays is not None:
        given, x, w, means, rstds = arrays
        shape = tuple(normalized_shape)
        parts = backward.layer_norm_gradients(given, x, w, means, rstds, shape, tuple(mask))
        of_input, of_weight, of_bias = (None if each is None else wrap(each) for each in parts)
        return of_input, of_weight, of_bias
    found: Gradients = aten.native_layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight, None, mask)
    return found


def gradients_of_batch_norm(
    grad: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    training: bool,
    eps: float,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `native_batch_norm`."""
    norms: Any = backward_norms if is_array_alone(grad) and is_array_alone(input) else aten
    found: Gradients = norms.native_batch_norm_backward(
        grad, input, weight, running_mean, running_var, mean, rstd, training, eps, mask
    )
    return found


def gradient_of_embedding(
    grad: Tensor, indices: Tensor, shape: Sizes, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """Return the gradient of a table of that shape, of which a formula keeps the shape alone."""
    if arrays_of(grad) is not None:
        return backward_rows.embedded_backward(grad, indices, shape, padding_idx, scale_grad_by_freq)
    return aten.embedding_dense_backward(grad, indices, shape[0], padding_idx, scale_grad_by_freq)


# Convolution, windows, images


def gradients_of_convolution(
    grad: Tensor,
    input: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    mask: Sequence[bool],
) -> Gradients:
    """Return the gradients of `convolution`."""
    windows: Any = backward_windows if is_array_alone(grad) else aten
    found: Gradients = windows.convolution_backward(
        grad, input, weight, None, stride, padding, dilation, transposed, output_padding, groups, mask
    )
    return found


def gradient_of_max_pool(
    grad: Tensor,
    self: Tensor,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    indices: Tensor,
    dims: int,
) -> Tensor:
    """Return the gradient of `max_pool2d_with_indices`, or of that of three dimensions."""
    arrays = arrays_of(grad, indices=indices)
    if arrays is not None and arrays[0].size:
        return wrap(max_pool_gradient(arrays[0], list(self.shape), arrays[1], dims))
    whole = aten.max_pool2d_with_indices_backward if dims == 2 else aten.max_pool3d_with_indices_backward
    return whole(grad, self, kernel_size, stride, padding, dilation, ceil_mode, indices)


def gradient_of_adaptive_avg_pool(grad: Tensor, self: Tensor, dims: int) -> Tensor:
    """Return the gradient of `adaptive_avg_pool2d` or `adaptive_avg_pool3d`."""
    if is_array_alone(grad):
        return adaptive_avg_pool_backward(grad, self.shape, dims)
    return (aten._adaptive_avg_pool2d_backward if dims == 2 else aten._adaptive_avg_pool3d_backward)(grad, self)


def gradient_of_nearest(grad: Tensor, size: Sizes, shape: Sizes, scales: Scales) -> Tensor:
    """Return the gradient of `upsample_nearest` over as many dimensions as there are scales."""
    if is_array_alone(grad):
        return upsample_nearest_backward(grad, shape, scales)
    every = (aten.upsample_nearest1d_backward, aten.upsample_nearest2d_backward, aten.upsample_nearest3d_backward)
    return every[len(scales) - 1](grad, size, shape, *scales)


def gradient_of_nearest_exact(grad: Tensor, size: Sizes, shape: Sizes, scales: Scales) -> Tensor:
    """Return the gradient of `_upsample_nearest_exact` over as many dimensions as there are scales."""
    if is_array_alone(grad):
        return upsample_nearest_exact_backward(grad, shape, scales)
    one, two = aten._upsample_nearest_exact1d_backward, aten._upsample_nearest_exact2d_backward
    return (one, two, aten._upsample_nearest_exact3d_backward)[len(scales) - 1](grad, size, shape, *scales)


def gradient_of_linear(grad: Tensor, size: Sizes, shape: Sizes, align_corners: bool, scales: Scales) -> Tensor:
    """Return the gradient of `upsample_linear` over as many dimensions as there are scales."""
    if is_array_alone(grad):
        return upsample_linear_backward(grad, shape, align_corners, scales)
    every = (aten.upsample_linear1d_backward, aten.upsample_bilinear2d_backward, aten.upsample_trilinear3d_backward)
    return every[len(scales) - 1](grad, size, shape, align_corners, *scales)


def gradient_of_cubic(grad: Tensor, size: Sizes, shape: Sizes, align_corners: bool, scales: Scales) -> Tensor:
    """Return the gradient of `upsample_bicubic2d`."""
    if is_array_alone(grad):
        return upsample_cubic_backward(grad, shape, align_corners, scales)
    return aten.upsample_bicubic2d_backward(grad, size, shape, align_corners, *scales)


def gradient_of_antialiased(
    grad: Tensor, size: Sizes, shape: Sizes, mode: str, align_corners: bool, scales: Scales
) -> Tensor:
    """Return the gradient of `_upsample_bilinear2d_aa` or `_upsample_bicubic2d_aa`, whose mode is given."""
    if is_array_alone(grad):
        return upsample_antialiased_backward(grad, shape, mode, align_corners, scales)
    whole = aten._upsample_bilinear2d_aa_backward if mode == "bilinear" else aten._upsample_bicubic2d_aa_backward
    return whole(grad, size, shape, align_corners, *scales)
