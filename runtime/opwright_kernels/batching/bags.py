"""Bags of rows, distances of pairs of rows, and losses of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_kernels.batching.operands import Operand, every, first, flattened, without_samples

__all__ = ["ctc_loss", "ctc_loss_backward", "embedding_bag", "pair_distances"]


def embedding_bag(
    info: Any,
    in_dims: Any,
    weight: Operand,
    indices: Operand,
    offsets: Operand,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Operand | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """Return bags of rows: the tables of all samples are one, as are their bags. A row more is what stands for none."""
    aten: Any = opwright.ops.aten
    tables, numbers, starts = (every(info, *pair) for pair in zip((weight, indices, offsets), in_dims, strict=False))
    count, rows, inside = info.batch_size, tables.shape[1], numbers.shape[1]
    starts = aten.narrow(starts, 1, 0, starts.shape[1] - 1) if include_last_offset else starts
    bags = starts.shape[1]
    sample = aten.unsqueeze(aten.arange(count, device=weight.device), 1)
    table = aten.reshape(tables, [count * rows, tables.shape[2]])
    positions = numbers + sample * rows
    if padding_idx >= 0:
        positions = aten.where.ScalarSelf(numbers == padding_idx, count * rows, positions)
        table = aten.cat([table, aten.new_zeros(table, [1, table.shape[1]])])
        padding_idx = count * rows
    weights = None if per_sample_weights is None else flattened(every(info, per_sample_weights, in_dims[6]))
    weights = None if weights is None else aten.reshape(weights, [-1])
    rest = (scale_grad_by_freq, mode, sparse, weights, False, padding_idx)
    flat = aten.reshape(positions, [count * inside]), aten.reshape(starts + sample * inside, [count * bags])
    out, bag_of, sizes, maxima = aten._embedding_bag(table, *flat, *rest)
    kind = opwright.result_type(indices, offsets)
    per_row = inside if bag_of.shape[0] else 0
    found = [aten.reshape(bag_of, [count, per_row]) - sample * bags, aten.reshape(sizes, [count, bags])]
    found.append(aten.reshape(maxima, [count, bags, *maxima.shape[1:]]))
    if mode == 2:
        has_some = aten.unsqueeze(found[1] > 0, 2)
        found[2] = aten.where.ScalarOther(has_some, found[2] - aten.unsqueeze(sample, 2) * rows, 0)
    rows_of_bags = aten.reshape(out, [count, bags, out.shape[1]])
    return (rows_of_bags, *(each.to(kind) for each in found)), (0, 0, 0, 0)


def pair_distances(info: Any, in_dims: Any, self: Operand, p: float = 2.0) -> Any:
    """Return the distances of pairs of rows: one corner of the distances of all."""
    aten: Any = opwright.ops.aten
    value = first(self, in_dims[0])
    size = value.shape[1]
    both = aten.triu_indices(size, size, 1, device=value.device)
    found = aten._cdist_forward(value, value, p, None)
    return aten.index.Tensor(found, [None, aten.select(both, 0, 0), aten.select(both, 0, 1)]), 0


def ctc_loss(
    info: Any,
    in_dims: Any,
    log_probs: Operand,
    targets: Operand,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> Any:
    """Return losses of sequences: those of all samples are one batch."""
    probs, labels = _one_batch(info, in_dims, log_probs, targets)
    lengths = list(input_lengths) * info.batch_size, list(target_lengths) * info.batch_size
    found = opwright.ops.aten._ctc_loss.default(probs, labels, *lengths, blank, zero_infinity)
    batch = len(input_lengths)
    return tuple([each.reshape([info.batch_size, batch, *each.shape[1:]]) for each in found]), (0, 0)


def ctc_loss_backward(
    info: Any,
    in_dims: Any,
    grad: Operand,
    log_probs: Operand,
    targets: Operand,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: Operand,
    log_alpha: Operand,
    blank: int,
    zero_infinity: bool = False,
) -> Any:
    """Return gradients of losses of sequences: those of all samples are one batch."""
    if info.batch_size == 0:
        given = (grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha)
        return without_samples(opwright.ops.aten._ctc_loss_backward, in_dims[:7], (*given, blank, zero_infinity))
    probs, labels = _one_batch(info, in_dims[1:3], log_probs, targets)
    lengths = list(input_lengths) * info.batch_size, list(target_lengths) * info.batch_size
    batch = len(input_lengths)
    parts = [
        each.reshape([info.batch_size * batch, *each.shape[2:]])
        for each in (
            every(info, grad, in_dims[0]),
            every(info, neg_log_likelihood, in_dims[5]),
            every(info, log_alpha, in_dims[6]),
        )
    ]
    function: Any = opwright.ops.aten._ctc_loss_backward
    found = function(parts[0], probs, labels, *lengths, parts[1], parts[2], blank, zero_infinity)
    return found.reshape([found.shape[0], info.batch_size, batch, found.shape[2]]), 1


def _one_batch(info: Any, in_dims: Any, log_probs: Operand, targets: Operand) -> tuple[Operand, Operand]:
    aten: Any = opwright.ops.aten
    probs, labels = every(info, log_probs, in_dims[0]), every(info, targets, in_dims[1])
    count, steps, batch, classes = probs.shape
    probs = aten.reshape(aten.movedim(probs, 0, 1), [steps, count * batch, classes])
    return probs, aten.reshape(labels, [labels.shape[0] * labels.shape[1], *labels.shape[2:]])
