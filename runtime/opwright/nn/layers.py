"""Linear maps, embeddings, attention, and elements in other positions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import opwright
from opwright.nn.annotations import A

__all__ = [
    "bilinear",
    "embedding",
    "gumbel_softmax",
    "pad",
    "scaled_dot_product_attention",
]


def bilinear(input1: A, input2: A, weight: A, bias: A | None = None) -> A:
    """Return input1 @ weight[k] @ input2 + bias for each k."""
    return opwright.bilinear(input1, input2, weight, bias)


def embedding(
    input: A,
    weight: A,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> A:
    """Return the rows of `weight` that `input` names; those longer than `max_norm` are shortened in `weight` first.

    Raises ValueError for a `padding_idx` that names no row, RuntimeError for a weight that is no matrix.
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


def scaled_dot_product_attention(
    query: A,
    key: A,
    value: A,
    attn_mask: A | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> A:
    """Return softmax(query @ key.T * scale + mask) @ value."""
    return opwright.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def gumbel_softmax(logits: A, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> A:
    """Return a sample from a categorical distribution, softened by the temperature `tau`; one-hot if `hard`."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    aten = opwright.ops.aten
    drawn = aten.exponential_(aten.empty_like(logits, memory_format=opwright.contiguous_format))
    noisy = opwright.div(opwright.sub(logits, opwright.log(drawn)), tau)
    soft: A = opwright.softmax(noisy, dim)
    if not hard:
        return soft
    chosen = opwright.argmax(soft, dim, True)
    points = aten.zeros_like(logits, memory_format=opwright.contiguous_format)
    return opwright.add(opwright.sub(opwright.scatter(points, dim, chosen, 1.0), soft), soft)


def pad(input: A, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> A:
    """Put more elements around the last dimensions: of one value, or "reflect", "replicate", "circular"."""
    return opwright.pad(input, pad, mode, value)
