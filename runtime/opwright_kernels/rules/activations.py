"""Activations that are not plain pointwise operators."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Along, Dim, Elementwise
from opwright_core.arrays.devices import element_strides
from opwright_core.arrays.dtypes import FLOATING, DType, as_dtype, float64, opmath, uint8
from opwright_core.arrays.sizes import holds
from opwright_core.plans.operands import check_accepted, check_number
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_core.rules.pointwise import pointwise
from opwright_kernels.rules.elementwise import pointwise_with

_halves = SpecCache()
_contiguous = SpecCache()


def gelu(self: Elementwise, approximate: str) -> Plan:
    """Plan as `pointwise` does, for floats. Raises RuntimeError for another approximation than none and tanh."""
    plan = pointwise(self, accepts="floating")
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return plan


def celu(self: Elementwise, alpha: complex) -> Plan:
    """Plan as `pointwise` does, for floats. Raises RuntimeError for an alpha of 0 or one the dtype cannot hold."""
    plan = pointwise_with(self, numbers=(alpha,), accepts="floating")
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return plan


def softshrink(self: Elementwise, lambd: complex) -> Plan:
    """Plan as `pointwise` does, for floats. Raises RuntimeError for a lambda below 0 or one the dtype cannot hold."""
    plan = pointwise_with(self, numbers=(lambd,), accepts="floating")
    if lambd.real < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return plan


def hardtanh(self: Elementwise, min_val: complex, max_val: complex) -> Plan:
    """Plan as `pointwise` does, with bounds, which become integers where `self` holds them. Raises RuntimeError where
    its dtype cannot hold them."""
    plan = pointwise(self, accepts="integer floating")
    if plan.compute not in FLOATING:
        for each in (min_val, max_val):
            check_number(each.real, plan.compute)
        min_val, max_val = int(min_val.real), int(max_val.real)
        if plan.compute is uint8 and (min_val < 0 or max_val < 0):
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    for each in (min_val, max_val):
        check_number(each, plan.compute)
    return plan


def rrelu(self: Any, lower: complex, upper: complex) -> Plan:
    """Plan as `pointwise` does, for floats. Raises RuntimeError where the slopes' bounds are in the wrong order, or the
    dtype cannot hold them."""
    plan = pointwise(self, accepts="floating")
    check_bounds(lower, upper, plan.compute)
    return plan


def check_bounds(lower: complex, upper: complex, dtype: DType) -> None:
    """Raise RuntimeError unless the slopes of `rrelu` are in order, and the dtype can hold them."""
    for bound in (lower, upper):
        check_number(bound, dtype if dtype in FLOATING else float64)  # (other dtypes are refused later)
    if lower.real > upper.real:
        raise RuntimeError(f"rrelu: lower bound ({lower}) must not be greater than the upper one ({upper})")


def glu(self: Along, dim: Dim) -> Plan:
    """Plan half of `self` along `dim`. Raises RuntimeError for an odd size and for 0-dim arrays."""
    key = (self.shape, self.strides, self.dtype, dim)
    spec = _halves.get(key)
    if spec is None:
        spec = _halves.keep(key, _halved(self, dim))
    return Plan(spec, (self,))


def _halved(self: Any, dim: int) -> TensorSpec:
    if not self.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    axis = layouts.wrap_dim(dim, self.ndim)
    size = self.shape[axis]
    if not holds(size % 2 == 0):
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {size}")
    given = as_dtype(self.dtype)
    check_accepted("floating", given)
    compute = opmath(given)
    shape = (*self.shape[:axis], size // 2, *self.shape[axis + 1 :])
    half = (shape, element_strides(self))
    strides = layouts.pointwise_strides(shape, [half, half])
    return TensorSpec(shape, strides, given, given, compute, compute, (given is not compute,), dims=(axis,))


def like_contiguous(self: Any) -> Plan:
    """Plan the shape and dtype of `self`, which is floating-point; contiguous."""
    key = (self.shape, self.dtype)
    spec = _contiguous.get(key)
    if spec is None:
        given = as_dtype(self.dtype)
        check_accepted("floating", given)
        compute = opmath(given)
        strides = layouts.contiguous_strides(self.shape)
        casts = (given is not compute,)
        spec = _contiguous.keep(key, TensorSpec(self.shape, strides, given, given, compute, compute, casts))
    return Plan(spec, (self,))
