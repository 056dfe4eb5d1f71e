"""Losses of scores for classes, and of what should be near and far. `reduction` is "none", "mean" or "sum";
`size_average` and `reduce` are its deprecated flags."""

from __future__ import annotations

from collections.abc import Callable

import opwright
from opwright.nn.annotations import A, Flag
from opwright.nn.reductions import reduced, reduction_number

__all__ = [
    "cosine_embedding_loss",
    "cross_entropy",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def nll_loss(
    input: A,
    target: A,
    weight: A | None = None,
    size_average: Flag = None,
    ignore_index: int = -100,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Return minus the score of the target class; classes run along dimension 1."""
    number = reduction_number(reduction, size_average, reduce)
    return opwright.nll_loss_nd(input, target, weight, number, ignore_index)


def cross_entropy(
    input: A,
    target: A,
    weight: A | None = None,
    size_average: Flag = None,
    ignore_index: int = -100,
    reduce: Flag = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> A:
    """Return minus the logarithm of the softmax of `input` at the target: classes, or probabilities in its shape."""
    number = reduction_number(reduction, size_average, reduce)
    return opwright.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


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
    """Return how far other classes come nearer than `margin` to the target class, to the power p.

    Raises ValueError for a p that is not 1 or 2, and for a weight that is no vector."""
    number = reduction_number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(weight.shape) != 1:
        raise ValueError("weight must be one-dimensional")
    return opwright.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: A, target: A, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> A:
    """Return how far other classes come nearer than 1 to the target classes, which are listed up to the first -1."""
    return opwright.multilabel_margin_loss(input, target, reduction_number(reduction, size_average, reduce))


def multilabel_soft_margin_loss(
    input: A,
    target: A,
    weight: A | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Return `binary_cross_entropy_with_logits` of each class, as the mean over the classes of the last dimension."""
    number = reduction_number(reduction, size_average, reduce)
    present = opwright.mul(target, opwright.log_sigmoid(input))
    absent = opwright.mul(opwright.rsub(target, 1), opwright.log_sigmoid(opwright.neg(input)))
    losses = opwright.neg(opwright.add(present, absent))
    if weight is not None:
        losses = opwright.mul(losses, weight)
    losses = opwright.div(opwright.sum(losses, -1), input.shape[-1])
    result: A = reduced(losses, number)
    return result


def margin_ranking_loss(
    input1: A,
    input2: A,
    target: A,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Return max(0, margin - target * (input1 - input2)); a target of 1 ranks the first higher, of -1 the second.

    Raises RuntimeError where they have other numbers of dimensions."""
    number = reduction_number(reduction, size_average, reduce)
    if not len(input1.shape) == len(input2.shape) == len(target.shape):
        shapes = ", ".join(str(list(each.shape)) for each in (input1, input2, target))
        raise RuntimeError(f"margin_ranking_loss: all inputs must have the same number of dimensions, got {shapes}")
    return opwright.margin_ranking_loss(input1, input2, target, margin, number)


def cosine_embedding_loss(
    input1: A,
    input2: A,
    target: A,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Return 1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
    number = reduction_number(reduction, size_average, reduce)
    return opwright.cosine_embedding_loss(input1, input2, target, margin, number)


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
    """Return max(0, margin + distance to the positive - distance to the negative); a margin of 0 raises ValueError."""
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
    """Return `triplet_margin_loss` by any distance, `pairwise_distance` unless it is given; it raises the same."""
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
    result: A = reduced(losses, number)
    return result
