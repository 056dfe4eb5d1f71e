"""Backward and forward functions of bags of rows, and of distances of pairs of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import opwright
from opwright_core.arrays.dtypes import int64
from opwright_core.tensors.tensor import wrap
from opwright_kernels.gradients.decompositions import distance_backward
from opwright_kernels.gradients.forward import distance_forward
from opwright_kernels.layers.bags import pairs_of
from opwright_kernels.plain import arrays_of

Tensor = Any
aten: Any = opwright.ops.aten


def _bag_of(indices: Tensor, offsets: Tensor) -> Tensor:
    """Return which bag each index is in; an offset at the end, which starts none, is never reached."""
    if indices.shape[0] == 0:
        return aten.arange(0, device=indices.device)
    numbers = aten.arange(indices.shape[0], device=indices.device)
    return aten.searchsorted(aten.to(offsets, int64), numbers, right=True) - 1


def _rows_of_bags(values: Tensor, bags: Tensor) -> Tensor:
    """Return what each bag has, for each index of it."""
    if bags.shape[0] == 0:
        return aten.new_zeros(values, [0, *values.shape[1:]])
    return aten.index_select(values, 0, bags)


def embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    shape: Sequence[int],
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int,
    bag_size: Tensor,
    maxima: Tensor,
) -> Tensor:
    """Return the gradient of the table: each row gets those of its bags."""
    bags = indices if mode == 2 else _bag_of(indices, offsets)
    return _embedding_bag_dense_backward(
        grad, indices, bags, bag_size, maxima, shape[0], scale_grad_by_freq, mode, per_sample_weights, padding_idx
    )


def _embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maxima: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int,
) -> Tensor:
    """Return the gradient of the table, dense whatever `sparse` says; `offset2bag` may be empty."""
    shape = (num_weights, grad.shape[1])
    more = (scale_grad_by_freq, mode, per_sample_weights, padding_idx, bag_size, maxima)
    return embedding_bag_backward(grad, indices, offsets, shape, *more)


def _embedding_bag_dense_backward(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maxima: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int,
) -> Tensor:
    """Return the gradient of the table, given which bag each index is in; of maxima it is not asked."""
    if mode == 2:
        positions = aten.to(maxima, int64)
        share = aten.where.ScalarOther(aten.unsqueeze(bag_size > 0, 1), grad, 0)
        return aten.scatter_add(aten.new_zeros(grad, [num_weights, grad.shape[1]]), 0, positions, share)
    rows = _rows_of_bags(grad, offset2bag)
    if mode == 1:
        sizes = aten.to(aten.clamp_min(bag_size, 1), grad.dtype)
        rows = rows / aten.unsqueeze(_rows_of_bags(sizes, offset2bag), 1)
    if per_sample_weights is not None:
        rows = rows * aten.unsqueeze(per_sample_weights, 1)
    return aten.embedding_dense_backward(rows, indices, num_weights, padding_idx, scale_grad_by_freq)


def embedding_bag_weights_backward(
    grad: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor, padding_idx: int
) -> Tensor:
    """Return the gradient of the weights of a sum; none flows where a row stands for nothing."""
    bags = _bag_of(indices, offsets)
    return _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, bags, 0, padding_idx)


def _embedding_bag_per_sample_weights_backward(
    grad: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor, offset2bag: Tensor, mode: int, padding_idx: int
) -> Tensor:
    """Return the gradient of the weights of a sum, given which bag each index is in."""
    chosen = aten.index_select(weight, 0, indices)
    found = aten.sum(_rows_of_bags(grad, offset2bag) * chosen, [1])
    return found if padding_idx < 0 else aten.where.ScalarOther(indices != padding_idx, found, 0)


def embedding_bag_forward(
    weight_t: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: int,
    per_sample_weights_t: Tensor | None,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int,
    bag_size: Tensor,
    maxima: Tensor,
) -> Tensor:
    """Return the tangents of bags: those of their rows, and the rows by the tangents of their weights."""
    if mode == 2:
        found = aten.gather(weight_t, 0, aten.to(maxima, int64))
        return aten.where.ScalarOther(aten.unsqueeze(bag_size > 0, 1), found, 0)

    def bags(table: Tensor, weights: Tensor | None) -> Tensor:
        options = (False, mode, False, weights, include_last_offset, padding_idx)
        return aten._embedding_bag(table, indices, offsets, *options)[0]

    total = bags(weight_t, per_sample_weights)
    return total if per_sample_weights_t is None else total + bags(weight, per_sample_weights_t)


def _pairs(self: Tensor) -> tuple[Tensor, Tensor]:
    count = self.shape[0]
    if arrays_of(self) is not None:
        first, second = pairs_of(np, count)
        return wrap(first), wrap(second)
    both = aten.triu_indices(count, count, 1, device=self.device)
    return aten.select(both, 0, 0), aten.select(both, 0, 1)


def pair_distances_backward(grad: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    """Return the gradient of the rows: of each pair, the second has the opposite of the first's."""
    first, second = _pairs(self)
    one, other = (aten.unsqueeze(aten.index_select(self, 0, each), 1) for each in (first, second))
    count = first.shape[0]
    found = distance_backward(aten.reshape(grad, [count, 1, 1]), one, other, p, aten.reshape(result, [count, 1, 1]))
    moved = aten.reshape(found, [count, self.shape[1]])
    return aten.index_add(aten.index_add(aten.zeros_like(self), 0, first, moved), 0, second, -moved)


def pair_distances_forward(self_t: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    """Return the tangents of the distances."""
    first, second = _pairs(self)
    one, other = (aten.unsqueeze(aten.index_select(self, 0, each), 1) for each in (first, second))
    moved = aten.index_select(self_t, 0, first) - aten.index_select(self_t, 0, second)
    count = first.shape[0]
    tangent = aten.reshape(moved, [count, 1, 1, self.shape[1]])
    return aten.reshape(distance_forward(tangent, one, other, p, aten.reshape(result, [count, 1, 1])), [count])


def ctc_loss_forward(
    tangent: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    losses: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    """Return the tangents of losses of sequences: each is the product with the gradient of that loss."""
    lengths = (input_lengths, target_lengths)
    ones = aten.ones_like(losses)
    slopes = aten._ctc_loss_backward(ones, log_probs, targets, *lengths, losses, log_alpha, blank, zero_infinity)
    return aten.sum(tangent * slopes, [0, 2])
