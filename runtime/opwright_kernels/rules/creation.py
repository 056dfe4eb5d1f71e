"""New arrays of numbers, and arrays that are overwritten by others."""

from __future__ import annotations

import math
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Elementwise, Size, Target
from opwright_core.arrays.devices import element_strides
from opwright_core.arrays.dtypes import FLOATING, INEXACT, as_dtype, float64, get_default_dtype, int64, to_complex
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.promotion import scalar_dtype
from opwright_core.arrays.sizes import SymbolicInt, holds, is_symbolic
from opwright_core.plans.operands import check_accepted, check_number, kept_strides
from opwright_core.plans.plan import Plan, PlanApart
from opwright_core.plans.specs import TensorSpec
from opwright_core.rules.factories import empty, overwritten

_END = 2**63  # of int64


def copied(self: Target, *, src: Elementwise) -> Plan:
    """Plan `self`, overwritten by an array that broadcasts to it. Raises RuntimeError where it does not."""
    same_shape = layouts.same_shape
    if not same_shape(src.shape, self.shape) and not same_shape(
        layouts.broadcast_shapes([self.shape, src.shape]), self.shape
    ):
        raise RuntimeError(
            f"The size of tensor a {list(self.shape)} must match the size of tensor b "
            f"{list(src.shape)}: it does not broadcast to it"
        )
    plan = overwritten(self, reads=src)
    strides = own_strides(self)
    if strides == plan.spec.strides:
        return plan
    return PlanApart(TensorSpec(self.shape, strides, as_dtype(self.dtype), pointwise=True), (self,), beside=(self, src))


def own_strides(self: Any) -> Shape:
    """Return the strides of a copy that keeps those of `self`, gaps included, but no overlap, and nothing backwards."""
    strides: Shape = element_strides(self)
    is_backwards = any(type(stride) is int and stride < 0 for stride in strides)  # (of NumPy; symbols never are)
    return kept_strides(self) if is_backwards or layouts.may_overlap_itself(self.shape, strides) else strides


def filled(self: Elementwise, *, value: Any) -> Plan:
    """Plan `self`, overwritten by a number, also where elements share memory, or by the element of a 0-dim array.

    Raises RuntimeError for an array of more dimensions, and a number that the dtype cannot hold.
    """
    if not hasattr(value, "ndim"):
        check_number(value, as_dtype(self.dtype))
        return overwritten(self, may_overlap=True)
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return overwritten(self)


def full(size: Size, fill_value: complex, *, dtype: object = None, device: object = None) -> Plan:
    """Plan a new array of one value; its dtype is the value's, floats in the default dtype, unless told otherwise.
    Raises RuntimeError where it cannot hold the value."""
    if dtype is None:
        dtype = scalar_dtype(fill_value)
    plan = empty(size, dtype=dtype, device=device)
    check_number(fill_value, plan.dtype)
    return plan


def arange(start: complex, end: complex, step: complex, *, dtype: object = None, device: object = None) -> Plan:
    """Plan the numbers from `start` to below `end`: int64 if all are integers, else the default dtype. An integer dtype
    makes integers of the three first; the number of elements follows from the three as given.

    Raises RuntimeError for a zero step, one that leads away from `end`, and for numbers that are not real.
    """
    if dtype is None and type(start) is type(end) is type(step) is int and step == 1 and -_END <= start <= end < _END:
        return empty([end - start], dtype=int64, device=device)
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise RuntimeError("arange: expected real numbers for start, end and step")
    given = start, end, step
    is_whole = all(isinstance(each, (int, SymbolicInt)) for each in given)
    if dtype is None and is_whole:
        dtype = int64
    if not all(is_symbolic(each) or isinstance(each, int) or math.isfinite(each) for each in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if not (holds(step > 0) or holds(step < 0)):  # NaN is neither
        raise RuntimeError("step must be nonzero")
    if not holds((end >= start) if step > 0 else (end <= start)):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is not None and as_dtype(dtype) not in INEXACT:
        start, end, step = (_whole(each) for each in given)
    length = -((start - end) // step) if is_whole else math.ceil((given[1] - given[0]) / given[2])
    plan = empty([length], dtype=dtype, device=device)
    check_accepted("integer floating", plan.dtype)
    return plan


def _whole(number: Any) -> Any:
    """Return the number without what is behind its point. Raises RuntimeError where no integer of 64 bits is that."""
    if is_symbolic(number):
        return number
    whole = int(number) if isinstance(number, int) or math.isfinite(number) else 1 << 63
    check_number(whole, int64)
    return whole


def linspace(start: complex, end: complex, steps: int, *, dtype: object = None, device: object = None) -> Plan:
    """Plan `steps` numbers: the default dtype, complex if an end is, unless told otherwise."""
    if not holds(steps >= 0):
        raise RuntimeError("number of steps must be non-negative")
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = to_complex(get_default_dtype())
    plan = empty([steps], dtype=dtype, device=device)
    check_accepted("integer floating complex", plan.dtype)
    for each in (start, end):
        check_number(each.real, float64 if plan.dtype in INEXACT else int64)
    return plan


def eye(n: int, m: int, *, dtype: object = None, device: object = None) -> Plan:
    """Plan an n × m matrix. Raises RuntimeError for a negative size."""
    for name, size in (("n", n), ("m", m)):
        if not holds(size >= 0):
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return empty([n, m], dtype=dtype, device=device)


def window(name: str, length: int, *, dtype: object = None, device: object = None) -> Plan:
    """Plan a window of `length` samples. Raises RuntimeError for a negative length or a dtype that is not floating."""
    if not holds(length >= 0):
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    plan = empty([length], dtype=dtype, device=device)
    if plan.dtype not in FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {plan.dtype}")
    return plan
