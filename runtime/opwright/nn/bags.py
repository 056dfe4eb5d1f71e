"""Bags of rows of a table, and losses of sequences."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import opwright
from opwright.nn.annotations import A
from opwright.nn.reductions import reduction_number

__all__ = ["ctc_loss", "embedding_bag"]

_MODES = ("sum", "mean", "max")


def embedding_bag(
    input: A,
    weight: A,
    offsets: A | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: A | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> A:
    """Return the sum, mean or maximum of the rows of each bag: the rows of a matrix, or what `offsets` divide. Raises
    ValueError for other shapes and for sparse gradients, NotImplementedError for weights of other than sums."""
    if _holds_indices(weight) and not _holds_indices(input):
        warnings.warn(
            "embedding_bag(weight, input, …) is the former order of arguments: write embedding_bag(input, weight, …)",
            stacklevel=2,
        )
        input, weight = weight, input
    if mode not in _MODES:
        raise ValueError(f"embedding_bag(): mode must be one of {', '.join(_MODES)}, but is {mode!r}")
    if sparse:
        raise ValueError("embedding_bag(): there are no sparse gradients; leave sparse=True out")
    if per_sample_weights is not None and tuple(per_sample_weights.shape) != tuple(input.shape):
        raise ValueError(
            f"embedding_bag(): per_sample_weights {list(per_sample_weights.shape)} should be of the input's shape, "
            f"{list(input.shape)}"
        )
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag(): per_sample_weights are for mode 'sum', not for {mode!r}")
    flat, starts = _divided(input, offsets)
    if max_norm is not None:
        with opwright.no_grad():
            opwright.ops.aten.embedding_renorm_(weight, flat, max_norm, norm_type)
    weights = None if per_sample_weights is None else opwright.reshape(per_sample_weights, [-1])
    options = (scale_grad_by_freq, _MODES.index(mode), sparse, weights, include_last_offset, padding_idx)
    found: A = opwright.embedding_bag(weight, flat, starts, *options)[0]
    return found


def _holds_indices(value: Any) -> bool:
    return str(value.dtype) in ("int64", "int32")


def _divided(input: A, offsets: A | None) -> tuple[A, A]:
    """Return all indices, and where each bag starts."""
    rank = len(input.shape)
    if rank == 2:
        if offsets is not None:
            raise ValueError("embedding_bag(): each row of a matrix is a bag, so that there are no offsets")
        starts: Any = opwright.arange(
            0, input.shape[0] * input.shape[1], input.shape[1], dtype=input.dtype, device=getattr(input, "device", None)
        )
        return opwright.reshape(input, [-1]), starts
    if rank != 1:
        raise ValueError(f"embedding_bag(): expected an input of 1 or 2 dimensions, but got {rank}")
    if offsets is None or len(offsets.shape) != 1:
        raise ValueError("embedding_bag(): an input of 1 dimension needs offsets of 1 dimension")
    return input, offsets


def ctc_loss(
    log_probs: A,
    targets: A,
    input_lengths: A | Sequence[int],
    target_lengths: A | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> A:
    """Return minus the logarithm of the probability of each sequence of labels under all its alignments."""
    rest: Any = (input_lengths, target_lengths)  # numbers, or tensors of them
    number = reduction_number(reduction)
    found: A = opwright.ctc_loss(log_probs, targets, rest[0], rest[1], blank, number, zero_infinity)
    return found
