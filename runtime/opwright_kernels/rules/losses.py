"""Losses: like their operands where nothing is reduced, 0-dim for a mean (1) and a sum (2)."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Elementwise, Reduction, Target
from opwright_core.arrays.dtypes import SCALAR_TYPE_NAME, DType, as_dtype, int64, opmath, uint8
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.promotion import castable
from opwright_core.arrays.sizes import guard_or_false, holds
from opwright_core.plans.operands import check_accepted, kept_strides
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_core.rules.pointwise import pointwise

_reduced = SpecCache()
_elementwise = SpecCache()
_scores = SpecCache()


def loss(self: Elementwise, target: Elementwise, reduction: Reduction) -> Plan:
    """Plan a loss of two operands that broadcast and are promoted, floating-point."""
    plan = pointwise(self, target, accepts="floating")
    if not reduction:
        return plan
    spec = plan.spec
    return Plan(_scalar(spec.common, spec.compute, spec.casts), (self, target))


def smooth_l1_loss(self: Elementwise, target: Elementwise, reduction: Reduction, beta: float) -> Plan:
    """Plan as `loss` does. Raises RuntimeError for a negative beta."""
    plan = loss(self, target, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return plan


def _scalar(dtype: DType, compute: DType, casts: tuple[bool, ...], common: DType | None = None) -> TensorSpec:
    key = (dtype, compute, casts, common)
    spec = _reduced.get(key)
    return spec or _reduced.keep(key, TensorSpec((), (), dtype, common or dtype, compute, compute, casts))


def huber_loss(self: Elementwise, target: Elementwise, reduction: Reduction, delta: float) -> Plan:
    """Plan as `loss` does; the result has the dtype of `self`, and its layout if it is of that shape.

    Raises RuntimeError where the promoted dtype cannot be cast to that of `self`, and unless delta > 0.
    """
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    plan = pointwise(self, target, accepts="floating")
    spec, dtype = plan.spec, as_dtype(self.dtype)
    if not castable(spec.common, dtype):
        names = SCALAR_TYPE_NAME[spec.common], SCALAR_TYPE_NAME[dtype]
        raise RuntimeError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")
    if reduction:
        return Plan(_scalar(dtype, spec.compute, spec.casts, spec.common), (self, target))
    strides = kept_strides(self) if layouts.same_shape(spec.shape, self.shape) else spec.strides
    found = TensorSpec(spec.shape, strides, dtype, spec.common, spec.compute, spec.produces, spec.casts, pointwise=True)
    return Plan(found, (self, target))


def binary_loss(self: Target, target: Elementwise, weight: Elementwise | None, reduction: Reduction) -> Plan:
    """Plan a loss of the shape and layout of `self`; target and weight are of its dtype and broadcast to it.

    Raises RuntimeError for another dtype or shape, DispatchError where the dtype is not floating-point.
    """
    operands = (self, target, weight)
    key = tuple(None if each is None else (each.shape, each.strides, each.dtype) for each in operands)
    spec = _elementwise.get((key, reduction))
    if spec is None:
        dtype = as_dtype(self.dtype)
        for each in operands[1:]:
            if each is not None:
                _check_dtype(each, dtype)
                if not layouts.same_shape(layouts.broadcast_shapes([self.shape, each.shape]), self.shape):
                    raise RuntimeError(f"a tensor of shape {list(each.shape)} does not fit {list(self.shape)}")
        check_accepted("floating", dtype)
        compute = opmath(dtype)
        casts = tuple(each is not None and dtype is not compute for each in operands)
        shape, strides = ((), ()) if reduction else (self.shape, kept_strides(self))
        spec = _elementwise.keep((key, reduction), TensorSpec(shape, strides, dtype, dtype, compute, compute, casts))
    return Plan(spec, operands)


def _check_dtype(given: Any, wanted: DType) -> None:
    if given.dtype != wanted:
        found = SCALAR_TYPE_NAME[as_dtype(given.dtype)]
        raise RuntimeError(f"Found dtype {found} but expected {SCALAR_TYPE_NAME[wanted]}")


def class_loss(self: Any, target: Any, weight: Any | None, reduction: int) -> Plan:
    """Plan `nll_loss`: scores (N, C) or (C) and a class for each row; the losses (N), or one."""
    if self.ndim not in (1, 2):
        raise RuntimeError(f"input tensor should be 1D or 2D, but is {self.ndim}D")
    if target.ndim > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, but got {target.ndim}D; multi-target is not supported")
    _check_classes(target, (int64, uint8))
    if self.ndim == 2:
        if not target.ndim:
            raise IndexError("a batch of scores needs a 1D target")
        if not holds(self.shape[0] == target.shape[0]):
            raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    return _scored(self, target, weight, target.shape if self.ndim == 2 and not reduction else ())


def image_class_loss(self: Any, target: Any, weight: Any | None, reduction: int) -> Plan:
    """Plan `nll_loss2d`: scores (N, C, H, W) and a class for each (N, H, W)."""
    if target.ndim != 3:
        raise RuntimeError(f"only batches of spatial targets supported (3D tensors), but got {target.ndim}D targets")
    if self.ndim != 4:
        raise RuntimeError(f"only batches of spatial inputs supported (4D tensors), but got {self.ndim}D input")
    _check_classes(target, (int64, uint8))
    if not layouts.same_shape((self.shape[0], *self.shape[2:]), target.shape):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    return _scored(self, target, weight, () if reduction else target.shape)


def _check_classes(target: Any, accepted: tuple[DType, ...]) -> None:
    if target.dtype not in accepted:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype}")


def _scored(self: Any, target: Any, weight: Any, shape: Shape) -> Plan:
    """Plan scores and weights in the dtype that is computed in, the target as it is."""
    classes = self.shape[1 if self.ndim > 1 else 0] if self.ndim else 1
    dtype = as_dtype(self.dtype)
    check_accepted("floating", dtype)
    if weight is not None:
        if weight.ndim != 1 or not holds(weight.shape[0] == classes):
            raise RuntimeError(
                f"weight tensor should be defined for all {classes} classes, but has shape {list(weight.shape)}"
            )
        _check_dtype(weight, dtype)
    compute = opmath(dtype)
    casts = (dtype is not compute, False, weight is not None and dtype is not compute)
    key = (shape, dtype, casts)
    spec = _scores.get(key)
    if spec is None:
        strides = layouts.contiguous_strides(shape)
        spec = _scores.keep(key, TensorSpec(shape, strides, dtype, dtype, compute, compute, casts))
    return Plan(spec, (self, target, weight))


def margin_loss(self: Any, target: Any, p: complex, weight: Any | None, reduction: int) -> Plan:
    """Plan `multi_margin_loss`: scores (N, C), (C) or one, and a class for each row; float32 and float64 alone."""
    if p not in (1, 2):
        raise RuntimeError(f"only p == 1 and p == 2 supported, but got {p}")
    _check_rows(self)
    rows = self.shape[0] if self.ndim == 2 else 1
    if target.ndim > 1 or not holds((target.shape[0] if target.ndim else 1) == rows):
        raise RuntimeError(f"expected a target of size [{rows}] for input {list(self.shape)}, got {list(target.shape)}")
    _check_classes(target, (int64,))
    plan = _scored(self, target, weight, () if reduction else target.shape)
    _refuse_reduced(plan)
    return plan


def multilabel_loss(self: Any, target: Any, reduction: int) -> Plan:
    """Plan `multilabel_margin_loss`: scores (N, C), (C) or one, as many classes for each row; float32 and float64
    alone."""
    _check_rows(self)
    fits = layouts.same_shape(self.shape, target.shape)
    if not fits and (self.ndim == 2 or target.ndim == 2 or target.shape not in ((), (1,))):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    _check_classes(target, (int64,))
    plan = _scored(self, target, None, self.shape[:1] if self.ndim == 2 and not reduction else ())
    _refuse_reduced(plan)
    return Plan(plan.spec, (self, target))


def multilabel_marks(self: Any, target: Any) -> Plan:
    """Plan the marks of classes that are targets: the dtype of `self`, the shape of the target."""
    strides = layouts.contiguous_strides(target.shape)
    return Plan(TensorSpec(target.shape, strides, as_dtype(self.dtype)), (self, target))


def _check_rows(self: Any) -> None:
    if self.ndim > 2 or (self.ndim and guard_or_false(self.shape[-1] == 0)):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )


def _refuse_reduced(plan: Plan) -> None:
    if plan.spec.compute is not plan.spec.dtype:
        raise NotImplementedError(f"not implemented for {plan.spec.dtype}")
