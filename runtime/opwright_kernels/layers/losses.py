"""Losses. `reduction` is 0 (none), 1 (mean) or 2 (sum); floating-point arrays come in the dtype that is computed in."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.core import compiled
from opwright_kernels.special_functions.approximation import blockwise

Array = Any


def _reduced(losses: Array, reduction: int) -> Array:
    if not reduction:
        return losses
    return losses.mean() if reduction == 1 else losses.sum()


@compiled
def mse_loss(xp: ModuleType, self: Array, target: Array, reduction: int) -> Array:
    """Return the squared distance."""
    distance = xp.subtract(self, target)
    distance *= distance
    return _reduced(distance, reduction)


@compiled
def smooth_l1_loss(xp: ModuleType, self: Array, target: Array, reduction: int, beta: float) -> Array:
    """Return the distance, squared and divided by 2 * beta where it is below beta."""
    distance = xp.abs(xp.subtract(self, target))
    if beta == 0:
        return _reduced(distance, reduction)
    near = xp.minimum(distance, beta)
    distance -= near
    near *= near
    near *= 0.5 / beta
    distance += near
    return _reduced(distance, reduction)


@compiled
def huber_loss(xp: ModuleType, self: Array, target: Array, reduction: int, delta: float) -> Array:
    """Return half the squared distance, linear in the distance from delta on."""

    def losses(xp: ModuleType, self: Array, target: Array) -> Array:
        distance = xp.abs(xp.subtract(self, target))
        near = xp.minimum(distance, delta)
        distance -= 0.5 * near
        distance *= near
        return distance

    return _reduced(blockwise(xp, losses, None, self, target), reduction)


def binary_cross_entropy(xp: ModuleType, self: Array, target: Array, weight: Array | None, reduction: int) -> Array:
    """Return -(target * log(self) + (1 - target) * log(1 - self)), the logarithms held above -100."""
    for name, given in (("input", self), ("target", target)):
        if given.size and not (given.min() >= 0 and given.max() <= 1):  # nor NaN
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    losses = blockwise(xp, _cross_entropies, None, self, target)
    if weight is not None:
        losses *= weight
    return _reduced(losses, reduction)


def _cross_entropies(xp: ModuleType, self: Array, target: Array) -> Array:
    losses = xp.maximum(xp.log1p(-self), -100)
    losses = losses * (target - 1)
    losses -= target * xp.maximum(xp.log(self), -100)
    return losses


@compiled
def nll_loss(
    xp: ModuleType, self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """Return minus the scores of the target classes, which run along dimension 1 (0 of a vector), times their weights;
    and the sum of the weights, 0 where a batch is not reduced. Raises IndexError for a class out of range."""
    if self.ndim == 2 and weight is None and reduction and target.size and target.dtype.kind == "i":
        # Seen without their sign, negative classes are larger than any number of them.
        largest = int(target.view(f"u{target.itemsize}").max())
        if largest < self.shape[1] and not 0 <= ignore_index <= largest:
            losses = self[xp.arange(len(target)), target]
            total = self.dtype.type(len(target))
            return -losses.sum() / (total if reduction == 1 else 1), xp.asarray(total)
    axis = 1 if self.ndim > 1 else 0
    shape = target.shape if axis else ()
    target = target.reshape(target.shape if axis else (1,)).astype("int64", copy=False)
    kept = target != ignore_index
    chosen = _checked_classes(xp, target, kept, self.shape[axis])
    if not axis:
        losses = -self[chosen]
    elif self.shape[axis]:
        losses = -xp.take_along_axis(self, xp.expand_dims(chosen, axis), axis).squeeze(axis)
    else:
        losses = xp.zeros(target.shape, self.dtype)
    weights = xp.asarray(kept, self.dtype) if weight is None else xp.where(kept, weight[chosen], 0)
    losses = xp.where(kept, losses * weights, 0)
    if not reduction:
        total = xp.zeros((), self.dtype) if axis else weights.reshape(())
        return losses.reshape(shape), total
    total = weights.sum()
    return (losses.sum() / total if reduction == 1 else losses.sum()), total


def _checked_classes(xp: ModuleType, target: Array, kept: Array, classes: int) -> Array:
    """Return the target classes, 0 where they are ignored."""
    outside = target[kept & ((target < 0) | (target >= classes))]
    if outside.size:
        raise IndexError(f"Target {int(outside[0])} is out of bounds.")
    return target if bool(kept.all()) else xp.where(kept, target, 0)


@compiled
def multi_margin_loss(
    xp: ModuleType, self: Array, target: Array, p: complex, margin: complex, weight: Array | None, reduction: int
) -> Array:
    """Return the mean over all other classes of what their scores come nearer than `margin` to that of the target
    class, to the power p."""
    rows = self.reshape(-1, self.shape[-1] if self.ndim else 1)
    chosen = target.reshape(-1, 1)
    if chosen.size and not bool(((chosen >= 0) & (chosen < rows.shape[1])).all()):
        raise RuntimeError("target out of range")
    excess = _above_zero(xp, rows - xp.take_along_axis(rows, chosen, 1) + margin)
    if p == 2:
        excess *= excess
    if weight is not None:
        excess *= weight[chosen]
    excess[xp.arange(len(rows)), chosen[:, 0]] = 0
    losses = excess.sum(axis=1) / rows.shape[1]
    return _reduced(losses, reduction) if reduction else losses.reshape(target.shape)


def _above_zero(xp: ModuleType, excess: Array) -> Array:
    """Return 0 instead of what is not above it: NaN too, which is no excess."""
    return xp.where(excess > 0, excess, excess.dtype.type(0))


@compiled
def multilabel_margin_loss(xp: ModuleType, self: Array, target: Array, reduction: int) -> tuple[Array, Array]:
    """Return the sum over target classes, up to the first -1, and all others of what the others' scores come nearer
    than 1, divided by the number of classes; and which classes are targets."""
    rows = self.reshape(-1, self.shape[-1] if self.ndim else 1)
    listed = target.reshape(rows.shape)
    if listed.size and not bool(((listed >= -1) & (listed < rows.shape[1])).all()):
        raise RuntimeError("target is out of range")
    valid = xp.cumprod(listed >= 0, axis=1).astype(bool)
    chosen = xp.where(valid, listed, 0)
    marks = xp.zeros(rows.shape, self.dtype)
    row, position = xp.nonzero(valid)
    marks[row, chosen[row, position]] = 1
    excess = _above_zero(xp, rows[:, None, :] - xp.take_along_axis(rows, chosen, 1)[:, :, None] + 1)
    excess = xp.where(valid[:, :, None] & (marks[:, None, :] == 0), excess, 0)
    losses = excess.sum(axis=(1, 2)) / rows.shape[1]
    result = _reduced(losses, reduction) if reduction or self.ndim == 2 else losses.reshape(())
    return result, marks.reshape(target.shape)
