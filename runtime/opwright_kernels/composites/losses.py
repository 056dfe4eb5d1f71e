"""Losses that are made of other operators, for every device. They see Tensors.

`reduction` is 0 (none), 1 (mean) or 2 (sum).
"""

from __future__ import annotations

from typing import Any

import opwright
from opwright.autograd.quick import is_fast_path
from opwright.namespaces import aten as direct
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, as_dtype
from opwright_core.arrays.sizes import holds

Operand = Any  # a Tensor


def _reduced(losses: Operand, reduction: int) -> Operand:
    aten = opwright.ops.aten
    if not reduction:
        return losses
    return aten.mean(losses) if reduction == 1 else aten.sum(losses)


def _in_place(result: Operand, self: Operand) -> Operand:
    """Return the result as an in-place operator on `self` would leave it: in its dtype. Raises RuntimeError where it
    does not fit."""
    if not layouts.same_shape(tuple(result.shape), tuple(self.shape)):
        raise RuntimeError(f"a result of shape {list(result.shape)} does not fit {list(self.shape)}")
    if not opwright.can_cast(result.dtype, self.dtype):
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {self.dtype}")
    return opwright.ops.aten.to(result, as_dtype(self.dtype))


def l1_loss(self: Operand, target: Operand, reduction: int) -> Operand:
    """Return the distance."""
    aten = opwright.ops.aten
    return _reduced(aten.abs(aten.sub(self, target)), reduction)


def binary_cross_entropy_with_logits(
    self: Operand, target: Operand, weight: Operand | None, pos_weight: Operand | None, reduction: int
) -> Operand:
    """Return `binary_cross_entropy` of sigmoid(self), in one step that loses no digits; `pos_weight` multiplies the
    losses of positive examples."""
    aten = opwright.ops.aten
    logarithm = aten.log_sigmoid(self)
    if pos_weight is not None:
        factor = aten.add(aten.mul(aten.sub(pos_weight, 1), target), 1)
        logarithm = _in_place(aten.mul(logarithm, factor), logarithm)
    losses = _in_place(aten.sub(_in_place(aten.mul(aten.rsub(target, 1), self), target), logarithm), target)
    if weight is not None:
        losses = _in_place(aten.mul(losses, weight), losses)
    return _reduced(losses, reduction)


def kl_div(self: Operand, target: Operand, reduction: int, log_target: bool) -> Operand:
    """Return the divergence of a distribution, given by logarithms, from the target; elementwise, so that a mean is
    over all elements."""
    aten = opwright.ops.aten
    for each in (self, target):
        if as_dtype(each.dtype) not in FLOATING:
            kind = "Complex" if as_dtype(each.dtype) in COMPLEX else "Integral"
            raise RuntimeError(f"kl_div: {kind} inputs not supported.")
    if log_target:
        losses = aten.mul(aten.exp(target), aten.sub(target, self))
    else:
        information = aten.xlogy(target, target)
        losses = aten.sub(information, aten.mul(target, self))
    return _reduced(losses, reduction)


def soft_margin_loss(self: Operand, target: Operand, reduction: int) -> Operand:
    """Return log(1 + exp(-target * self))."""
    aten = opwright.ops.aten
    losses = aten.log1p(aten.exp(_in_place(aten.mul(aten.neg(self), target), self)))
    return _reduced(_in_place(losses, self), reduction)


def hinge_embedding_loss(self: Operand, target: Operand, margin: float, reduction: int) -> Operand:
    """Return `self` where the target is 1, max(0, margin - self) where it is -1, their sum elsewhere."""
    aten = opwright.ops.aten
    zeros = aten.zeros_like(self)
    beyond = aten.clamp(aten.sub(aten.full_like(self, margin), self), 0)
    negative = aten.where(aten.ne(target, 1), beyond, zeros)
    return _reduced(aten.add(negative, aten.where(aten.ne(target, -1), self, zeros)), reduction)


def poisson_nll_loss(
    input: Operand, target: Operand, log_input: bool, full: bool, eps: float, reduction: int
) -> Operand:
    """Return minus the logarithm of the Poisson probability of the target; `full` adds Stirling's term for targets
    above 1."""
    aten = opwright.ops.aten
    if log_input:
        losses = aten.sub(aten.exp(input), aten.mul(target, input))
    else:
        losses = aten.sub(input, aten.mul(target, aten.log(aten.add(input, eps))))
    if full:
        term = aten.sub(aten.mul(target, aten.log(target)), target)
        term = aten.add(term, aten.mul(aten.log(aten.mul(target, 6.283185307179586)), 0.5))
        losses = _in_place(aten.add(losses, aten.where(aten.le(target, 1), 0, term)), losses)
    return _reduced(losses, reduction)


# Of classes


def nll_loss_nd(self: Operand, target: Operand, weight: Operand | None, reduction: int, ignore_index: int) -> Operand:
    """Return `nll_loss` of scores with any dimensions behind the classes."""
    aten = opwright.ops.aten
    ndim = len(self.shape)
    if not ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if ndim > 1 and (not len(target.shape) or not holds(self.shape[0] == target.shape[0])):
        raise ValueError(
            f"Expected input batch_size ({self.shape[0]}) to match target batch_size ({list(target.shape)[:1]})."
        )
    if ndim < 3:
        return aten.nll_loss(self, target, weight, reduction, ignore_index)
    if ndim == 4:
        return aten.nll_loss2d(self, target, weight, reduction, ignore_index)
    if not layouts.same_shape(tuple(self.shape[2:]), tuple(target.shape[1:])):
        raise RuntimeError(f"Expected target size {[self.shape[0], *self.shape[2:]]}, got {list(target.shape)}")
    count = layouts.count(tuple(self.shape[2:]))
    losses = aten.nll_loss2d(
        aten.reshape(self, [self.shape[0], self.shape[1], 1, count]),
        aten.reshape(target, [self.shape[0], 1, count]),
        weight,
        reduction,
        ignore_index,
    )
    return losses if reduction else aten.reshape(losses, list(target.shape))


def cross_entropy_loss(
    self: Operand,
    target: Operand,
    weight: Operand | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
) -> Operand:
    """Return minus the logarithm of the softmax of `self` at the target: classes, or probabilities where it has the
    shape of `self`."""
    is_of_rows = len(self.shape) == 2 and len(target.shape) == 1 and self.shape[0] == target.shape[0]
    if is_of_rows and not label_smoothing and is_fast_path(self, target):
        logarithm = direct["_log_softmax.default"](self, 1, False)
        return direct["nll_loss_forward.default"](logarithm, target, weight, reduction, ignore_index)[0]
    aten = opwright.ops.aten
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    has_probabilities = tuple(self.shape) == tuple(target.shape)
    if has_probabilities and as_dtype(target.dtype) not in FLOATING:
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype}")
    if has_probabilities and ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    dim = 0 if len(self.shape) == 1 else 1
    logarithm = aten.log_softmax(self, dim, self.dtype)
    if has_probabilities:
        return _cross_entropy_of_probabilities(logarithm, target, weight, reduction, label_smoothing, dim)
    losses = aten.nll_loss_nd(logarithm, target, weight, reduction, ignore_index)
    if label_smoothing > 0:
        smooth = _smooth_loss(logarithm, target, weight, reduction, ignore_index, dim)
        share = label_smoothing / self.shape[dim]
        losses = aten.add(aten.mul(losses, 1 - label_smoothing), aten.mul(smooth, share))
    return losses


def _along_classes(weight: Operand, ndim: int) -> Operand:
    """Return weights of the classes, to be multiplied with what has them in dimension 1."""
    return weight if ndim == 1 else opwright.ops.aten.reshape(weight, [1, -1, *[1] * (ndim - 2)])


def _cross_entropy_of_probabilities(
    logarithm: Operand, target: Operand, weight: Operand | None, reduction: int, smoothing: float, dim: int
) -> Operand:
    aten = opwright.ops.aten
    shape = tuple(logarithm.shape)
    classes = shape[dim]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined for all {classes} classes, "
            f"but has shape {list(weight.shape)}"
        )
    if smoothing > 0:
        target = aten.add(aten.mul(target, 1 - smoothing), smoothing / classes)
    products = aten.mul(logarithm, target)
    if weight is not None:
        products = aten.mul(products, _along_classes(weight, len(shape)))
    if not reduction:
        return aten.neg(aten.sum(products, dim))
    total = aten.neg(aten.sum(products))
    if reduction == 2:
        return total
    rows = layouts.count(shape) // classes if classes else 0
    return aten.div(total, rows) if rows else aten.mul(total, float("nan"))


def _smooth_loss(
    logarithm: Operand, target: Operand, weight: Operand | None, reduction: int, ignore_index: int, dim: int
) -> Operand:
    """Return the loss of a target that is spread over all classes."""
    aten = opwright.ops.aten
    if weight is not None:
        logarithm = aten.mul(logarithm, _along_classes(weight, len(logarithm.shape)))
    ignored = aten.eq(target, ignore_index)
    losses = aten.masked_fill(aten.neg(aten.sum(logarithm, dim)), ignored, 0)
    if not reduction:
        return losses
    total = aten.sum(losses)
    if reduction == 2:
        return total
    if weight is None:
        return aten.div(total, aten.sum(aten.logical_not(ignored)))
    weights = aten.take(weight, aten.masked_fill(target, ignored, 0))
    return aten.div(total, aten.sum(aten.masked_fill(weights, ignored, 0)))


# Of several arrays


def margin_ranking_loss(input1: Operand, input2: Operand, target: Operand, margin: float, reduction: int) -> Operand:
    """Return max(0, margin - target * (input1 - input2)); a target of 1 ranks the first higher, of -1 the second."""
    aten = opwright.ops.aten
    product = aten.mul(aten.neg(target), aten.sub(input1, input2))
    return _reduced(aten.clamp(aten.add(product, margin), 0), reduction)


def cosine_embedding_loss(input1: Operand, input2: Operand, target: Operand, margin: float, reduction: int) -> Operand:
    """Return 1 - cosine where the target is 1, max(0, cosine - margin) where it is -1, else 0."""
    aten = opwright.ops.aten
    ndim = len(target.shape)
    if ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not len(input1.shape) == len(input2.shape) == ndim + 1:
        raise RuntimeError(f"{ndim}D target tensor expects {ndim + 1}D input tensors")
    product, square1, square2 = (
        aten.sum(aten.mul(a, b), ndim) for a, b in ((input1, input2), (input1, input1), (input2, input2))
    )
    lengths = aten.sqrt(aten.mul(aten.add(square1, 1e-12), aten.add(square2, 1e-12)))
    cosine = aten.div(product, lengths)
    zeros = aten.zeros_like(cosine)
    alike = aten.where(aten.eq(target, 1), aten.rsub(cosine, 1), zeros)
    other = aten.where(aten.eq(target, -1), aten.clamp(aten.sub(cosine, margin), 0), zeros)
    return _reduced(aten.add(alike, other), reduction)


def triplet_margin_loss(
    anchor: Operand,
    positive: Operand,
    negative: Operand,
    margin: float,
    p: float,
    eps: float,
    swap: bool,
    reduction: int,
) -> Operand:
    """Return max(0, margin + distance to the positive - distance to the negative); `swap` takes the negative's distance
    from the positive where that is less."""
    aten = opwright.ops.aten
    if not len(anchor.shape) == len(positive.shape) == len(negative.shape):
        shapes = ", ".join(str(list(each.shape)) for each in (anchor, positive, negative))
        raise RuntimeError(f"triplet_margin_loss: all inputs must have the same number of dimensions, got {shapes}")
    near = aten.pairwise_distance(anchor, positive, p, eps)
    far = aten.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = aten.minimum(far, aten.pairwise_distance(positive, negative, p, eps))
    return _reduced(aten.clamp(aten.sub(aten.add(near, margin), far), 0), reduction)


def pairwise_distance(x1: Operand, x2: Operand, p: float, eps: float, keepdim: bool) -> Operand:
    """Return the p-norm of x1 - x2 + eps along the last dimension."""
    aten = opwright.ops.aten
    last = max(len(x1.shape), len(x2.shape)) - 1
    return aten.linalg_vector_norm(aten.add(aten.sub(x1, x2), eps), p, [last], keepdim)


def cosine_similarity(x1: Operand, x2: Operand, dim: int, eps: float) -> Operand:
    """Return the sum along `dim` of the products of both, each divided by its length, or by eps if it is shorter."""
    aten = opwright.ops.aten
    common = opwright.result_type(x1, x2)
    if common not in FLOATING:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common}")
    shape = list(layouts.broadcast_shapes([tuple(x1.shape), tuple(x2.shape)]))
    units = []
    for each in (x1, x2):
        vectors = aten.expand(aten.to(each, common), shape)
        units.append(aten.div(vectors, aten.clamp(aten.linalg_vector_norm(vectors, 2, [dim], True), eps)))
    return aten.sum(aten.mul(*units), dim)
