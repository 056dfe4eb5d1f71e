"""The backward operators of softmax, gates, embeddings and parts of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base
from opwright_core.arrays.dtypes import as_dtype, opmath
from opwright_core.plans.operands import check_number
from opwright_core.tensors.tensor import wrap
from opwright_kernels import backward
from opwright_kernels.gradients.activations import halves
from opwright_kernels.gradients.nn import frequencies
from opwright_kernels.plain import dense_arrays

Operand = Any  # a Tensor
aten = opwright.ops.aten


# Softmax


def _softmax_backward_data(grad_output: Operand, output: Operand, dim: int, input_dtype: Any) -> Operand:
    """Return the gradient less its mean under the softmax `output`, times that."""
    found = dense_arrays(grad_output, output)
    if found is not None and dim in (-1, output.ndim - 1) and output.ndim and output.dtype == input_dtype:
        return wrap(backward.softmax_gradient(found[0], found[1]))
    grad, weights = _computed(grad_output), _computed(output)
    return aten.to(weights * (grad - aten.sum(grad * weights, [dim], True)), input_dtype)


def _log_softmax_backward_data(grad_output: Operand, output: Operand, dim: int, input_dtype: Any) -> Operand:
    """Return the gradient less its sum times the exponential of `output`."""
    found = dense_arrays(grad_output, output)
    if found is not None and dim in (-1, output.ndim - 1) and output.ndim and output.dtype == input_dtype:
        return wrap(backward.log_softmax_gradient(found[0], found[1]))
    grad = _computed(grad_output)
    return aten.to(grad - aten.exp(_computed(output)) * aten.sum(grad, [dim], True), input_dtype)


def _computed(self: Operand) -> Operand:
    """Return the operand in the dtype that it is computed in, so that results are rounded once."""
    return aten.to(self, opmath(as_dtype(self.dtype)))


# Gates


def glu_backward(grad_output: Operand, self: Operand, dim: int) -> Operand:
    """Return the gradients of the half that passes and of the half that opens the gate."""
    first, second = halves(self, dim)
    gate = aten.sigmoid(second)
    return aten.cat([grad_output * gate, grad_output * first * gate * (1 - gate)], dim)


def glu_backward_jvp(
    grad_x: Operand, grad_glu: Operand, x: Operand, dgrad_glu: Operand, dx: Operand, dim: int
) -> Operand:
    """Return the tangent of `glu_backward`, whose result is `grad_x`, from those of `grad_glu` and of `x`."""
    (first, second), (first_t, second_t) = halves(x, dim), halves(dx, dim)
    passed, gate = halves(grad_x, dim)[0], aten.sigmoid(second)
    moved = second_t - second_t * gate
    of_first = dgrad_glu * gate + passed * moved
    of_second = of_first * (first - first * gate) + passed * (first_t - first_t * gate - first * gate * moved)
    return aten.cat([of_first, of_second], dim)


def rrelu_with_noise_backward(
    grad_output: Operand,
    self: Operand,
    noise: Operand,
    lower: complex,
    upper: complex,
    training: bool,
    self_is_result: bool,
) -> Operand:
    """Return the gradient by the slopes that were drawn, by their mean where none were."""
    if training:
        return noise * grad_output
    for bound in (lower, upper):
        check_number(bound, as_dtype(self.dtype))
    return aten.leaky_relu_backward(grad_output, self, (lower + upper) / 2, self_is_result)


# Embeddings


def embedding_backward(
    grad: Operand, indices: Operand, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Operand:
    """Return the gradient of `embedding`, dense whatever `sparse` says."""
    return aten.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


def embedding_dense_backward(
    grad_output: Operand, indices: Operand, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Operand:
    """Return the gradients of all positions that a row went to, added; over their number, if asked for."""
    shape = [num_weights, *grad_output.shape[indices.ndim :]]
    return embedded_backward(grad_output, indices, shape, padding_idx, scale_grad_by_freq)


def embedded_backward(
    grad: Operand, indices: Operand, shape: Sequence[int], padding_idx: int, scale_grad_by_freq: bool
) -> Operand:
    """Return the gradient of a table of that shape."""
    flat = aten.reshape(indices, [-1])
    rows = aten.reshape(grad, [*flat.shape, *shape[1:]])
    if scale_grad_by_freq:
        rows = rows / aten.unsqueeze(frequencies(rows, flat, shape[0]), -1)
    if padding_idx >= 0:
        rows = aten.where(aten.unsqueeze(flat != padding_idx, -1), rows, 0)
    return aten.index_add(aten.new_zeros(grad, shape), 0, flat, rows)


# Parts of tensors


def unfold_backward(grad_in: Operand, input_sizes: Sequence[int], dim: int, size: int, step: int) -> Operand:
    """Return the gradients of all windows that hold an element, added."""
    if not len(input_sizes):
        return aten.sum(grad_in)  # of the one element, or with size 0 of none
    dim = dim % len(input_sizes)
    positions = aten.arange(input_sizes[dim], device=grad_in.device).unfold(0, size, step)
    count = positions.shape[0] * size
    inner = aten.reshape(aten.movedim(grad_in, -1, dim + 1), [*input_sizes[:dim], count, *input_sizes[dim + 1 :]])
    return aten.index_add(aten.new_zeros(grad_in, input_sizes), dim, aten.reshape(positions, [-1]), inner)


def masked_scatter_backward(grad_output: Operand, mask: Operand, sizes: Sequence[int]) -> Operand:
    """Return the gradient where the mask holds, in order; zeros for the part of the source that was not used."""
    count = 1
    for size in sizes:
        count = count * size
    chosen = aten.reshape(mask.expand(grad_output.shape), [-1])
    positions = aten.where(chosen, aten.cumsum(chosen, 0) - 1, count)
    found = aten.scatter(aten.new_zeros(grad_output, [count + 1]), 0, positions, aten.reshape(grad_output, [-1]))
    return without_base(aten.reshape(aten.narrow(found, 0, 0, count), sizes))
