"""Bags of rows whose padding is named from the end, distances of pairs, and losses of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.arrays.dtypes import FLOATING, as_dtype

Operand = Any
Lengths = Sequence[int]


def embedding_bag(
    weight: Operand,
    indices: Operand,
    offsets: Operand,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Operand | None,
    include_last_offset: bool,
    padding_idx: int | None = None,
) -> tuple[Operand, ...]:
    """Return what `_embedding_bag` does; a negative row counts from the end."""
    row, rows = -1 if padding_idx is None else padding_idx, weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(f"embedding_bag: padding_idx must lie from {-rows} to {rows - 1}, but is {padding_idx}")
    if padding_idx is not None and padding_idx < 0:
        row = padding_idx + rows
    rest = (scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, row)
    return tuple(opwright.ops.aten._embedding_bag(weight, indices, offsets, *rest))


def pdist(self: Operand, p: float) -> Operand:
    """Return the p-norm distances of all pairs of rows."""
    if self.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.ndim}D")
    if as_dtype(self.dtype) not in FLOATING:
        raise RuntimeError(f"pdist only supports floating-point dtypes, got: {self.dtype}")
    if not p >= 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got: {p}")
    return opwright.ops.aten._pdist_forward(opwright.ops.aten.contiguous(self), p)


def ctc_loss(
    log_probs: Operand,
    targets: Operand,
    input_lengths: Lengths | Operand,
    target_lengths: Lengths | Operand,
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Operand:
    """Return the loss of sequences (T, N, C), or of one (T, C); a mean is over labels first, then over sequences."""
    aten: Any = opwright.ops.aten
    inputs, lengths = _numbers(input_lengths), _numbers(target_lengths)
    is_batch = log_probs.ndim == 3
    given = log_probs if is_batch else aten.unsqueeze(log_probs, 1)
    labels = targets if is_batch else aten.unsqueeze(targets, 0)
    losses = aten._ctc_loss.default(given, labels, inputs, lengths, blank, zero_infinity)[0]
    if zero_infinity:
        losses = aten.where.ScalarSelf(losses == float("inf"), 0, losses)
    if reduction == 1:
        counts = [max(1, length) for length in lengths]
        return aten.mean(losses / losses.new_tensor(counts))
    if reduction == 2:
        return aten.sum(losses)
    return losses if is_batch else aten.squeeze(losses, 0)


def _ctc_loss(
    log_probs: Operand,
    targets: Operand,
    input_lengths: Operand,
    target_lengths: Operand,
    blank: int,
    zero_infinity: bool,
) -> tuple[Operand, Operand]:
    """Return the losses and partial sums of sequences whose lengths are tensors."""
    lengths = _numbers(input_lengths), _numbers(target_lengths)
    found: tuple[Operand, Operand] = opwright.ops.aten._ctc_loss.default(
        log_probs, targets, *lengths, blank, zero_infinity
    )
    return found


def _numbers(lengths: Lengths | Operand) -> list[int]:
    if not isinstance(lengths, opwright.Tensor):
        return list(lengths)
    if lengths.is_floating_point() or lengths.is_complex():
        raise RuntimeError(f"ctc_loss: lengths must be integers, but are {lengths.dtype}")
    numbers: list[int] = opwright.ops.aten.reshape(lengths, [-1]).tolist()
    return numbers
