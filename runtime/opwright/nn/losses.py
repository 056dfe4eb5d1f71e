"""Losses and distances. `reduction` is "none", "mean" or "sum"; `size_average` and `reduce` are its deprecated
flags."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import opwright
from opwright.nn.annotations import A
from opwright.nn.reductions import reduced, reduction_number

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

Flag = bool | None


# Of two arrays, element by element


def mse_loss(
    input: A,
    target: A,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    weight: A | None = None,
) -> A:
    """The squared distance; a weighted mean is divided by the sum of the weights."""
    number = reduction_number(reduction, size_average, reduce)
    input, target = _broadcast(input, target)
    if weight is None:
        return opwright.mse_loss(input, target, number)
    return _weighted(opwright.mse_loss(input, target, 0), weight, number)


def l1_loss(
    input: A,
    target: A,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    weight: A | None = None,
) -> A:
    """The distance; a weighted mean is divided by the sum of the weights."""
    number = reduction_number(reduction, size_average, reduce)
    input, target = _broadcast(input, target)
    if weight is None:
        return opwright.l1_loss(input, target, number)
    return _weighted(opwright.l1_loss(input, target, 0), weight, number)


def smooth_l1_loss(
    input: A,
    target: A,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> A:
    """The distance, squared and divided by 2 * beta where it is below beta."""
    number = reduction_number(reduction, size_average, reduce)
    input, target = _broadcast(input, target)
    return opwright.smooth_l1_loss(input, target, number, beta) if beta else opwright.l1_loss(input, target, number)


def huber_loss(
    input: A, target: A, reduction: str = "mean", delta: float = 1.0, weight: A | None = None
) -> A:
    """Half the squared distance, linear in the distance from delta on; a weighted mean is over all elements."""
    number = reduction_number(reduction)
    input, target = _broadcast(input, target)
    if weight is None:
        return opwright.huber_loss(input, target, number, delta)
    losses = opwright.huber_loss(input, target, 0, delta)
    _check_weight(losses, weight)
    result: A = reduced(opwright.mul(losses, weight), number)
    return result


def _broadcast(input: A, target: A) -> tuple[A, A]:
    """Both in the shape that they broadcast to, with a warning where they differ."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({list(target.shape)}) that is different to the input size ({list(input.shape)}). This "
        "will likely lead to incorrect results due to broadcasting.",
        stacklevel=3,
    )
    shape = list(opwright.layouts.broadcast_shapes([tuple(input.shape), tuple(target.shape)]))
    return opwright.ops.aten.expand(input, shape), opwright.ops.aten.expand(target, shape)


def _check_weight(input: Any, weight: Any) -> None:
    if weight.shape != input.shape:
        raise ValueError(f"weight and input must have one shape, but have {list(weight.shape)} and {list(input.shape)}")


def _weighted(losses: A, weight: A, number: int) -> A:
    _check_weight(losses, weight)
    weighted = opwright.mul(losses, weight)
    if number == 1:
        return opwright.div(opwright.sum(weighted), opwright.sum(weight))
    result: A = reduced(weighted, number)
    return result


def binary_cross_entropy(
    input: A,
    target: A,
    weight: A | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """-(target * log(input) + (1 - target) * log(1 - input)), for probabilities of one shape."""
    number = reduction_number(reduction, size_average, reduce)
    _check_one_shape(input, target)
    if weight is not None:
        shape = opwright.layouts.broadcast_shapes([tuple(target.shape), tuple(weight.shape)])
        weight = opwright.ops.aten.expand(weight, list(shape))
    return opwright.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: A,
    target: A,
    weight: A | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    pos_weight: A | None = None,
) -> A:
    """`binary_cross_entropy` of sigmoid(input), in one step that loses no digits."""
    number = reduction_number(reduction, size_average, reduce)
    _check_one_shape(input, target)
    return opwright.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def _check_one_shape(input: Any, target: Any) -> None:
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({list(target.shape)}) must be the same as input size ({list(input.shape)})"
        )


def kl_div(
    input: A,
    target: A,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> A:
    """The divergence of a distribution, given by logarithms, from the target; "batchmean" divides the sum by the
    batch size, as the definition does."""
    by_batch = reduction == "batchmean"
    number = reduction_number("sum" if by_batch else reduction, size_average, reduce)
    result = opwright.kl_div(input, target, number, log_target=log_target)
    return opwright.div(result, input.shape[0]) if by_batch and len(input.shape) else result


def soft_margin_loss(
    input: A, target: A, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> A:
    """log(1 + exp(-target * input))."""
    return opwright.soft_margin_loss(input, target, reduction_number(reduction, size_average, reduce))


def hinge_embedding_loss(
    input: A,
    target: A,
    margin: float = 1.0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """`input` where the target is 1, max(0, margin - input) where it is -1."""
    number = reduction_number(reduction, size_average, reduce)
    return opwright.hinge_embedding_loss(input, target, margin, number)


def poisson_nll_loss(
    input: A,
    target: A,
    log_input: bool = True,
    full: bool = False,
    size_average: Flag = None,
    eps: float = 1e-8,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Minus the logarithm of the Poisson probability of the target."""
    number = reduction_number(reduction, size_average, reduce)
    return opwright.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: A, target: A, var: A | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> A:
    """Minus the logarithm of the normal density of the target, the variance held above `eps`.

    Raises ValueError where the variance is negative or does not fit the shape of `input`.
    """
    variance = _variance(input, var)
    number = reduction_number(reduction)
    held = opwright.clamp(variance, min=eps)
    distance = opwright.sub(input, target)
    squares = opwright.div(opwright.mul(distance, distance), held)
    losses = opwright.mul(opwright.add(opwright.log(held), squares), 0.5)
    if full:
        losses = opwright.add(losses, 0.5 * math.log(2 * math.pi))
    return reduced(losses, number)


def _variance(input: Any, var: Any) -> Any:
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        return opwright.full_like(input, var)
    if bool(opwright.any(opwright.lt(var, 0))):
        raise ValueError("var has negative entry/entries")
    shape, given = tuple(input.shape), tuple(var.shape)
    if given == shape:
        return var
    if given == shape[:-1]:
        return opwright.unsqueeze(var, -1)
    if len(given) == len(shape) and sum(size for full, size in zip(shape, given, strict=True) if full != size) == 1:
        return var
    raise ValueError(f"var of shape {list(given)} does not fit input of shape {list(shape)}")


# Of classes


def nll_loss(
    input: A,
    target: A,
    weight: A | None = None,
    size_average: Flag = None,
    ignore_index: int = -100,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """Minus the score of the target class; classes run along dimension 1."""
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
    """Minus the logarithm of the softmax of `input` at the target: classes, or probabilities in the shape of
    `input`."""
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
    """How far other classes come nearer than `margin` to the target class, to the power p (1 or 2)."""
    number = reduction_number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(weight.shape) != 1:
        raise ValueError("weight must be one-dimensional")
    return opwright.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: A, target: A, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> A:
    """How far other classes come nearer than 1 to the target classes, which are listed up to the first -1."""
    return opwright.multilabel_margin_loss(input, target, reduction_number(reduction, size_average, reduce))


def multilabel_soft_margin_loss(
    input: A,
    target: A,
    weight: A | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """`binary_cross_entropy_with_logits` of each class, as the mean over the classes of the last dimension."""
    number = reduction_number(reduction, size_average, reduce)
    present = opwright.mul(target, opwright.log_sigmoid(input))
    absent = opwright.mul(opwright.rsub(target, 1), opwright.log_sigmoid(opwright.neg(input)))
    losses = opwright.neg(opwright.add(present, absent))
    if weight is not None:
        losses = opwright.mul(losses, weight)
    losses = opwright.div(opwright.sum(losses, -1), input.shape[-1])
    result: A = reduced(losses, number)
    return result


# Of several arrays


def margin_ranking_loss(
    input1: A,
    input2: A,
    target: A,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> A:
    """max(0, margin - target * (input1 - input2)): the target is 1 where the first should rank higher, else -1."""
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
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
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
    """max(0, margin + distance to the positive - distance to the negative)."""
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
    """`triplet_margin_loss` by any distance, `pairwise_distance` unless it is given."""
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
