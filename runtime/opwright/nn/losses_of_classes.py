"""Losses of scores for classes, of sequences and of distances. `reduction` is "none", "mean" or "sum"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import opwright
from opwright.nn.annotations import A, Flag
from opwright.nn.reductions import reduced
from opwright_core.dispatch.call.reductions import reduction_number

__all__ = [
    "ctc_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def multi_margin_loss(
    input: A,
    target: A,
    p: int = 1,
    margin: float = 1.0,
    weight: A | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Return the mean of max(0, margin - target score + score) ** p over the other classes.

    Raises ValueError if p is not 1 or 2, or the weight is not a vector.
    """
    number = reduction_number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(weight.shape) != 1:
        raise ValueError("weight must be one-dimensional")
    return opwright.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_soft_margin_loss(
    input: A,
    target: A,
    weight: A | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Return the mean of `binary_cross_entropy_with_logits` over the classes in the last dimension."""
    number = reduction_number(reduction, size_average, reduce)
    present = opwright.mul(target, opwright.log_sigmoid(input))
    absent = opwright.mul(opwright.rsub(target, 1), opwright.log_sigmoid(opwright.neg(input)))
    losses = opwright.neg(opwright.add(present, absent))
    if weight is not None:
        losses = opwright.mul(losses, weight)
    losses = opwright.div(opwright.sum(losses, -1), input.shape[-1])
    return reduced(losses, number)


def margin_ranking_loss(
    input1: A,
    input2: A,
    target: A,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Return max(0, margin - target * (input1 - input2)). The target 1 ranks `input1` higher, -1 ranks `input2` higher.

    Raises RuntimeError if the numbers of dimensions differ.
    """
    number = reduction_number(reduction, size_average, reduce)
    if not len(input1.shape) == len(input2.shape) == len(target.shape):
        shapes = ", ".join(str(list(each.shape)) for each in (input1, input2, target))
        raise RuntimeError(f"margin_ranking_loss: all inputs must have the same number of dimensions, got {shapes}")
    return opwright.margin_ranking_loss(input1, input2, target, margin, number)


def triplet_margin_loss(
    anchor: A,
    positive: A,
    negative: A,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Return max(0, margin + distance to the positive - distance to the negative).

    Raises ValueError if the margin is not positive.
    """
    number = reduction_number(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return opwright.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: A,
    positive: A,
    negative: A,
    *,
    distance_function: Callable[[A, A], A] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> A:
    """Return `triplet_margin_loss` with any distance. The default is `pairwise_distance`.

    Raises ValueError if the margin is not positive, RuntimeError if the numbers of dimensions differ.
    """
    number = reduction_number(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not len(anchor.shape) == len(positive.shape) == len(negative.shape):
        shapes = ", ".join(str(list(each.shape)) for each in (anchor, positive, negative))
        raise RuntimeError(f"triplet_margin: all inputs must have the same number of dimensions, got {shapes}")
    distance: Callable[[A, A], A] = opwright.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = opwright.minimum(far, distance(positive, negative))
    losses = opwright.clamp(opwright.sub(opwright.add(near, margin), far), min=0)
    return reduced(losses, number)


def ctc_loss(
    log_probs: A,
    targets: A,
    input_lengths: A | Sequence[int],
    target_lengths: A | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> A:
    """Return minus the logarithm of the probability of each sequence of labels over all its alignments."""
    rest: Any = (input_lengths, target_lengths)  # numbers, or tensors of them
    number = reduction_number(reduction)
    found: A = opwright.ctc_loss(log_probs, targets, rest[0], rest[1], blank, number, zero_infinity)
    return found
