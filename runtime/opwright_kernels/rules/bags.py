"""Bags of rows of a table, pairs of rows, and alignments of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import FLOATING, DType, as_dtype, float32, float64, int32, int64
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import holds
from opwright_core.errors import DispatchError
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_kernels.rules.embedding import check_indices


def bags(
    weight: Any,
    indices: Any,
    offsets: Any,
    mode: int,
    per_sample_weights: Any | None,
    include_last_offset: bool,
    padding_idx: int,
) -> tuple[Plan, Plan, Plan, Plan]:
    """Plan a row for each bag, the bag of each index, the size of each bag, and which rows are the maxima.

    Raises RuntimeError unless `weight` is 2-D and floating-point, the others 1-D, and weights are for sums."""
    _check_bags(weight, indices, offsets, mode, per_sample_weights)
    given = as_dtype(weight.dtype)
    kind = int64 if int64 in (indices.dtype, offsets.dtype) else int32
    count, width = offsets.shape[0] - include_last_offset, weight.shape[1]
    operands = (weight, indices, offsets, per_sample_weights)

    def plan(shape: Shape, dtype: DType) -> Plan:
        return Plan(TensorSpec(shape, layouts.contiguous_strides(shape), dtype, given, given, dtype), operands)

    most = (count, width) if mode == 2 else (count,)
    of_rows = (0,) if skips_places(weight, mode, per_sample_weights, padding_idx) else tuple(indices.shape)
    return plan((count, width), given), plan(of_rows, kind), plan((count,), kind), plan(most, kind)


def skips_places(weight: Any, mode: int, per_sample_weights: Any | None, padding_idx: int) -> bool:
    """Whether the bag of each index is not told, as PyTorch does not for sums of rows that lie dense in memory."""
    if mode != 0 or weight.dtype == float64 or padding_idx >= 0:
        return False
    parts = (weight,) if per_sample_weights is None else (weight, per_sample_weights)
    return all(each.strides[-1] == each.dtype.itemsize for each in parts)


def _check_bags(weight: Any, indices: Any, offsets: Any, mode: int, per_sample_weights: Any | None) -> None:
    if weight.ndim != 2 or indices.ndim != 1 or offsets.ndim != 1:
        raise RuntimeError(
            f"embedding_bag: expected a weight of 2 dimensions, others of 1, but got {list(weight.shape)}, "
            f"{list(indices.shape)}, {list(offsets.shape)}"
        )
    check_indices(indices)
    check_indices(offsets)
    if as_dtype(weight.dtype) not in FLOATING:
        raise RuntimeError(f"embedding_bag: expected a floating-point weight, but got {weight.dtype}")
    if mode not in (0, 1, 2):
        raise RuntimeError(f"embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), but is {mode}")
    if per_sample_weights is None:
        return
    if mode != 0:
        raise RuntimeError("embedding_bag: per_sample_weights are for sums alone")
    if per_sample_weights.dtype != weight.dtype:
        raise RuntimeError(f"embedding_bag: per_sample_weights are {per_sample_weights.dtype}, not {weight.dtype}")
    if per_sample_weights.ndim != 1 or not holds(per_sample_weights.shape[0] == indices.shape[0]):
        raise RuntimeError(f"embedding_bag: {list(per_sample_weights.shape)} weights for {list(indices.shape)} indices")


def pair_distances(self: Any, p: float) -> Plan:
    """Plan a distance for each pair of rows. Raises IndexError unless there are two dimensions, DispatchError for
    another dtype than float32 and float64."""
    if self.ndim != 2:
        raise IndexError(f"pdist: expected 2 dimensions, but got {list(self.shape)}")
    given = as_dtype(self.dtype)
    if given not in (float32, float64):
        raise DispatchError(f"pdist: not implemented for {given}")
    count = self.shape[0]
    return Plan(TensorSpec((count * (count - 1) // 2,), (1,), given), (self,))


def alignments(
    log_probs: Any, targets: Any, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int
) -> tuple[Plan, Plan]:
    """Plan `_ctc_loss`: a loss for each sequence, and the table of partial sums. Raises RuntimeError unless lengths and
    labels fit (T, N, C)."""
    _check_alignments(log_probs, targets, input_lengths, target_lengths, blank)
    given = as_dtype(log_probs.dtype)
    steps, batch, _ = log_probs.shape
    table = (batch, steps, 2 * max(target_lengths, default=0) + 1)
    operands = (log_probs, targets)
    return (
        Plan(TensorSpec((batch,), (1,), given, given, given), operands),
        Plan(TensorSpec(table, layouts.contiguous_strides(table), given, given, given), operands),
    )


def alignment_gradients(
    log_probs: Any, targets: Any, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int
) -> Plan:
    """Plan `_ctc_loss_backward`: a result like `log_probs`. Raises RuntimeError where `_ctc_loss` does; PyTorch would
    write outside of its memory there."""
    _check_alignments(log_probs, targets, input_lengths, target_lengths, blank)
    given, shape = as_dtype(log_probs.dtype), log_probs.shape
    return Plan(TensorSpec(shape, layouts.contiguous_strides(shape), given, given, given), (log_probs, targets))


def _check_alignments(
    log_probs: Any, targets: Any, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int
) -> None:
    if log_probs.ndim != 3 or targets.ndim not in (1, 2):
        raise RuntimeError(
            f"ctc_loss: expected log_probs (T, N, C) and targets (N, S) or (sum of lengths), but got "
            f"{list(log_probs.shape)} and {list(targets.shape)}"
        )
    if targets.dtype not in (int32, int64):
        raise RuntimeError(f"ctc_loss: expected targets of int32 or int64, but got {targets.dtype}")
    given = as_dtype(log_probs.dtype)
    steps, batch, labels = log_probs.shape
    if not holds(blank >= 0) or not holds(blank < labels):
        raise RuntimeError(f"ctc_loss: blank must be one of the {labels} labels, but is {blank}")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if not holds(batch == len(lengths)) or any(length < 0 for length in lengths):
            raise RuntimeError(f"ctc_loss: expected {batch} {name} of at least 0, but got {list(lengths)}")
    longest = max(target_lengths, default=0)
    if not holds(steps >= max(input_lengths, default=0)):
        raise RuntimeError(f"ctc_loss: expected input_lengths of at most {steps}, but got {list(input_lengths)}")
    room, needed = (targets.shape[0], sum(target_lengths)) if targets.ndim == 1 else (targets.shape[1], longest)
    fits = room == needed if targets.ndim == 1 else room >= needed
    if not holds(fits) or (targets.ndim == 2 and not holds(targets.shape[0] == batch)):
        raise RuntimeError(f"ctc_loss: targets {list(targets.shape)} do not fit target_lengths {list(target_lengths)}")
    if given not in (float32, float64):
        raise DispatchError(f"ctc_loss: not implemented for {given}")
