"""Rows of a table, and sums of rows."""

from __future__ import annotations

import warnings
from typing import Any

import opwright
from opwright.nn.annotations import A

__all__ = ["embedding", "embedding_bag"]

_MODES = ("sum", "mean", "max")


def embedding(
    input: A,
    weight: A,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> A:
    """Return the rows of `weight` at the indices `input`. First scale rows of `weight` with a norm above `max_norm`.

    Raises ValueError if `padding_idx` is out of range, RuntimeError if `weight` is not a matrix.
    """
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, but its size is {list(weight.shape)}")
    rows = weight.shape[0]
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise ValueError(f"padding_idx must be within the {rows} embeddings, but is {padding_idx}")
    elif padding_idx < 0:
        padding_idx += rows
    if max_norm is not None:
        opwright.embedding_renorm_(weight, input, max_norm, norm_type)
    return opwright.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


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
    """Return the sum, mean or maximum of the rows of each bag. A bag is a row of `input`, or a part between `offsets`.

    Raises ValueError for other shapes and for sparse gradients, NotImplementedError for weights of means and maxima.
    """
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
    """Return all indices and the start of each bag."""
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
