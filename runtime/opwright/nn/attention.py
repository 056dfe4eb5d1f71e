"""Multi-head attention, and cross entropy of a linear layer."""

from __future__ import annotations

import math
from typing import Any

import opwright
from opwright.nn.annotations import A
from opwright_aten.functions.nn import cross_entropy

__all__ = ["linear_cross_entropy", "multi_head_attention_forward"]


def multi_head_attention_forward(
    query: A,
    key: A,
    value: A,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: A | None,
    in_proj_bias: A | None,
    bias_k: A | None,
    bias_v: A | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: A,
    out_proj_bias: A | None,
    training: bool = True,
    key_padding_mask: A | None = None,
    need_weights: bool = True,
    attn_mask: A | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: A | None = None,
    k_proj_weight: A | None = None,
    v_proj_weight: A | None = None,
    static_k: A | None = None,
    static_v: A | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[A, A | None]:
    """Return the attention (L, N, E) of `query` (L, N, E) to `key` and `value` (S, N, E), and its weights (N, L, S) if
    `need_weights`. All may lack N.

    The weights have a dimension for heads unless `average_attn_weights`. Raises RuntimeError for other shapes.
    """
    _check(query, key, value, key_padding_mask, attn_mask, embed_dim_to_check, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError("is_causal says that attn_mask is causal: give the mask, too")
    is_batch = len(query.shape) == 3
    if not is_batch:
        query, key, value = (opwright.unsqueeze(each, 1) for each in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else opwright.unsqueeze(key_padding_mask, 0)
    own_weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    projected = _projected((query, key, value), in_proj_weight, in_proj_bias, own_weights)
    is_hinted = is_causal and key_padding_mask is None and not need_weights
    mask = None if is_hinted else _number_mask(attn_mask, query)
    padding = _number_mask(key_padding_mask, query)
    heads = _heads(projected, (bias_k, bias_v), (static_k, static_v), add_zero_attn, num_heads)
    mask = _joined(mask, padding, heads[1].shape[1], (*query.shape[:2], num_heads))
    attended, scores = _attended(heads, mask, dropout_p if training else 0.0, num_heads, need_weights, is_hinted)
    if scores is not None and average_attn_weights:
        scores = opwright.mean(scores, [1])
    out = opwright.linear(opwright.reshape(attended, list(query.shape)), out_proj_weight, out_proj_bias)
    if is_batch:
        return out, scores
    return opwright.squeeze(out, 1), None if scores is None else opwright.squeeze(scores, 0)


def _check(query: Any, key: Any, value: Any, padding: Any, mask: Any, width: int, heads: int) -> None:
    rank = len(query.shape)
    sizes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
    if rank not in (2, 3) or len(key.shape) != rank or len(value.shape) != rank:
        raise RuntimeError(f"expected query, key and value of 2 dimensions, or 3 with a batch, but got {sizes}")
    if tuple(key.shape[:-1]) != tuple(value.shape[:-1]) or query.shape[-1] != width or width % heads:
        raise RuntimeError(
            f"expected a query of {width} numbers, a multiple of the {heads} heads, and a value for each key, but got "
            f"{sizes}"
        )
    if padding is not None and len(padding.shape) != rank - 1:
        raise RuntimeError(f"key_padding_mask {list(padding.shape)} does not fit {sizes}")
    if mask is None:
        return
    length, count = query.shape[0], key.shape[0]
    batch = query.shape[1] if rank == 3 else 1
    if tuple(mask.shape) not in ((length, count), (batch * heads, length, count)):
        raise RuntimeError(f"attn_mask {list(mask.shape)} does not fit {sizes}")


def _projected(inputs: Any, weight: Any, bias: Any, own: Any) -> list[Any]:
    """Return the projected query, key and value. The weights are three matrices, or parts of one."""
    if own is None and weight is None:
        raise RuntimeError("in_proj_weight is needed unless use_separate_proj_weight is True")
    if own is not None and any(each is None for each in own):
        raise RuntimeError("use_separate_proj_weight=True needs q_proj_weight, k_proj_weight and v_proj_weight")
    matrices = own if own is not None else opwright.chunk(weight, 3)
    biases = (None, None, None) if bias is None else opwright.chunk(bias, 3)
    return [opwright.linear(*each) for each in zip(inputs, matrices, biases, strict=True)]


def _number_mask(mask: Any, like: Any) -> Any:
    """Return the mask that is added to scores: -inf where a Boolean mask is true."""
    if mask is None or opwright.is_floating_point(mask):
        return mask
    if mask.dtype != opwright.bool:
        raise RuntimeError(f"masks must be Boolean or floating-point, but one is {mask.dtype}")
    shape, device = list(mask.shape), getattr(like, "device", None)
    return opwright.masked_fill(opwright.zeros(shape, dtype=like.dtype, device=device), mask, -math.inf)


def _heads(projected: list[Any], biases: Any, static: Any, add_zero_attn: bool, num_heads: int) -> list[Any]:
    """Return query, key and value of each head: (N * heads, L, E / heads)."""
    found = []
    for position, each in enumerate(projected):
        batch, width = each.shape[1], each.shape[2]
        bias, given = (None, None) if position == 0 else (biases[position - 1], static[position - 1])
        if bias is not None:
            each = opwright.cat([each, opwright.ops.aten.expand(bias, [1, batch, width])])
        rows = opwright.reshape(each, [each.shape[0], batch * num_heads, width // num_heads])
        rows = opwright.transpose(rows, 0, 1) if given is None else given
        if add_zero_attn and position:
            rows = opwright.cat([rows, opwright.zeros_like(rows[:, :1])], 1)
        found.append(rows)
    return found


def _joined(mask: Any, padding: Any, count: int, sizes: tuple[int, ...]) -> Any:
    """Return the sum of both masks, which broadcasts to (N * heads, L, S). Added keys have no mask."""
    _, batch, heads = sizes
    parts: list[Any] = [
        None if each is None else opwright.ops.aten.constant_pad_nd(each, [0, count - each.shape[-1]])
        for each in (mask, padding)
    ]
    mask, padding = parts
    if padding is not None:
        spread = opwright.ops.aten.expand(opwright.reshape(padding, [batch, 1, 1, count]), [batch, heads, 1, count])
        padding = opwright.reshape(spread, [batch * heads, 1, count])
    return padding if mask is None else mask if padding is None else opwright.add(mask, padding)


def _attended(
    heads: list[Any], mask: Any, dropout_p: float, num_heads: int, need_weights: bool, is_causal: bool
) -> tuple[Any, Any]:
    """Return (L, N, heads, E / heads), and the weights (N, heads, L, S)."""
    q = heads[0]
    batch = q.shape[0] // num_heads
    by_head: list[Any] = [opwright.reshape(each, [batch, num_heads, *each.shape[1:]]) for each in heads]
    if mask is not None and len(mask.shape) == 3:
        mask = opwright.reshape(mask, [batch, num_heads, *mask.shape[1:]])
    if not need_weights:
        found = opwright.ops.aten.scaled_dot_product_attention(
            by_head[0], by_head[1], by_head[2], mask, dropout_p, is_causal
        )
        return opwright.permute(found, [2, 0, 1, 3]), None
    scores = opwright.matmul(
        opwright.mul(by_head[0], math.sqrt(1 / q.shape[2])), opwright.transpose(by_head[1], -2, -1)
    )
    scores = opwright.softmax(scores if mask is None else opwright.add(scores, mask), -1)
    if dropout_p > 0:
        scores = opwright.dropout(scores, dropout_p, True)
    return opwright.permute(opwright.matmul(scores, by_head[2]), [2, 0, 1, 3]), scores


def linear_cross_entropy(
    input: A,
    linear_weight: A,
    target: A,
    *,
    linear_bias: A | None = None,
    weight: A | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> A:
    """Return the cross entropy of `linear(input, linear_weight)`.

    The scores are (N, C), or (N, C, d1, ...) for a weight (C, d1, ..., features). `options` has no effect. Raises
    RuntimeError for other shapes.
    """
    if len(input.shape) not in (1, 2) or len(linear_weight.shape) < 2 or input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            f"expected an input (N, features) or (features) and a weight (C, ..., features), but got "
            f"{list(input.shape)} and {list(linear_weight.shape)}"
        )
    sizes: list[int] = list(linear_weight.shape[:-1])
    if linear_bias is not None and list(linear_bias.shape) != sizes:
        raise RuntimeError(f"expected a linear_bias of size {sizes}, but got {list(linear_bias.shape)}")
    if len(sizes) > 1 and len(input.shape) == 1:
        raise RuntimeError(
            f"a weight {list(linear_weight.shape)} needs an input (N, features), not {list(input.shape)}"
        )
    shape: list[int] = [*input.shape[:-1], *sizes]
    if list(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index is for targets that are classes, not for probabilities")
    rows = opwright.reshape(linear_weight, [math.prod(sizes), linear_weight.shape[-1]])
    bias = None if linear_bias is None else opwright.reshape(linear_bias, [math.prod(sizes)])
    scores = opwright.reshape(opwright.linear(input, rows, bias), shape)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )
