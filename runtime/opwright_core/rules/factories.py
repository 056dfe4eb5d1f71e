"""New arrays, of given sizes or like another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import DtypeKinds, Elementwise, Size, Target
from opwright_core.arrays.devices import Device, as_device
from opwright_core.arrays.dtypes import FLOATING, INEXACT, as_dtype, get_default_dtype, int64, opmath, to_complex
from opwright_core.arrays.layouts import contiguous_strides
from opwright_core.arrays.promotion import result_type, scalar_dtype
from opwright_core.arrays.sizes import SymbolicInt, holds, is_symbolic
from opwright_core.plans.forms import Form, Forms
from opwright_core.plans.operands import (
    NUMBERS,
    check_accepted,
    check_number,
    formatted_strides,
    kept_strides,
    memory_format_name,
    needs_cast,
)
from opwright_core.plans.plan import Plan, PlanApart

_CPU = Device("cpu")
_likes = Forms()
_sized = Forms()
_of_operands = Forms()


def like(self: Elementwise, *, dtype: object = None, memory_format: object = None) -> Plan:
    """Plan a result of the shape of `self`, as `empty_like` makes it: dense inputs keep their strides, others
    TensorIterator's order.

    `memory_format`: None or `preserve_format`, `contiguous_format`, `channels_last`, `channels_last_3d`.
    """
    return Plan(_like_form(self, dtype, memory_format, None, False, False), (self,))


def overwritten(
    self: Elementwise,
    *,
    accepts: DtypeKinds | None = None,
    memory_format: object = None,
    may_overlap: bool = False,
    reads: Any = None,
) -> Plan:
    """Plan a result like `self` that does not depend on it elementwise, or that the kernel begins with: written in
    place as it is (`fill`).

    `may_overlap`: it writes in place even where elements share memory, as some of PyTorch's do. `reads`: another array
    that the kernel looks at, which may share no part of the memory alone.
    """
    form = _like_form(self, None, memory_format, accepts, True, may_overlap)
    return Plan(form, (self,)) if reads is None else PlanApart(form, (self,), beside=(self, reads))


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
    return overwritten(self, reads=src)


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


def _like_form(
    self: Any, dtype: object, memory_format: object, accepts: str | None, pointwise: bool, may_overlap: bool
) -> Form:
    key = (self.shape, self.strides, self.dtype, dtype, memory_format, accepts, pointwise, may_overlap)
    form = _likes.get(key)
    if form is None:
        kept = as_dtype(self.dtype)
        check_accepted(accepts, kept)
        chosen = memory_format_name(memory_format)
        is_kept = chosen in (None, "preserve_format")
        strides = kept_strides(self) if is_kept else formatted_strides(self.shape, chosen)
        result = kept if dtype is None else as_dtype(dtype)
        form = _likes.keep(key, Form(self.shape, strides, result, pointwise=pointwise, may_overlap=may_overlap))
    return form


def empty(
    size: int | Size,
    *,
    dtype: object = None,
    device: object = None,
    memory_format: object = None,
    stride: Sequence[int] | None = None,
) -> Plan:
    """Plan a new array of this size: the default dtype, the CPU and row-major strides unless told otherwise.

    Raises RuntimeError for a negative size.
    """
    shape = (size,) if isinstance(size, int) else tuple(size)
    key = (shape, dtype, memory_format, None if stride is None else tuple(stride))
    form = _sized.get(key)
    if form is None:
        for length in shape:
            if not holds(length >= 0):
                raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {list(shape)}")
        strides = formatted_strides(shape, memory_format_name(memory_format)) if stride is None else tuple(stride)
        form = _sized.keep(key, Form(shape, strides, get_default_dtype() if dtype is None else as_dtype(dtype)))
    return Plan(form, device=_CPU if device is None else as_device(device))


def sized(size: int | Sequence[int], *operands: Any, dtype: object = None, accepts: DtypeKinds | None = None) -> Plan:
    """Plan a new array of this size, row-major, on the device of the operands: `sized([indptr.shape[0] - 1], values)`.

    Operands are promoted together, and the kernel gets them in that dtype; it is the result's, too, unless `dtype` is
    given. `accepts` lists the kinds of it that are served, as for `pointwise`. Other arguments of the operator reach
    the kernel as they are. Raises RuntimeError for a negative size, DispatchError for a dtype that is not accepted.
    """
    shape = (size,) if isinstance(size, int | SymbolicInt) else tuple(size)
    key = (
        shape,
        dtype,
        accepts,
        *[type(each) if isinstance(each, NUMBERS) else (each.ndim, each.dtype) for each in operands],
    )
    form = _of_operands.get(key)
    if form is None:
        for length in shape:
            if not holds(length >= 0):
                raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {list(shape)}")
        common = result_type(*operands) if operands else get_default_dtype()
        check_accepted(accepts, common)
        compute = opmath(common)
        casts = tuple([needs_cast(each, compute) for each in operands])
        result = common if dtype is None else as_dtype(dtype)
        made = Form(shape, contiguous_strides(shape), result, common, compute, None, casts)
        form = _of_operands.keep(key, made)
    return Plan(form, operands)


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
    makes integers of the three first; the number of elements follows from the three as given, but for int64.

    Raises RuntimeError for a zero step, one that leads away from `end`, and for numbers that are not real.
    """
    if dtype is None and type(start) is type(end) is type(step) is int and step == 1 and start <= end:
        return empty([end - start], dtype=int64, device=device)
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise RuntimeError("arange: expected real numbers for start, end and step")
    given = start, end, step
    is_whole = all(isinstance(each, (int, SymbolicInt)) for each in given)
    if dtype is None and is_whole:
        dtype = int64
    if not all(is_symbolic(each) or math.isfinite(each) for each in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if not (holds(step > 0) or holds(step < 0)):  # NaN is neither
        raise RuntimeError("step must be nonzero")
    if not holds((end >= start) if step > 0 else (end <= start)):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is not None and as_dtype(dtype) not in INEXACT:
        start, end, step = (_whole(each) for each in given)
    if is_whole or (dtype is not None and as_dtype(dtype) is int64):
        if step == 0:
            raise ValueError(f"arange: the step {given[2]} is 0 in int64")
        length = -((start - end) // step)
    else:
        length = math.ceil((given[1] - given[0]) / given[2])
    plan = empty([length], dtype=dtype, device=device)
    check_accepted("integer floating", plan.dtype)
    return plan


def _whole(number: Any) -> Any:
    """Return the number without what is behind its point. Raises RuntimeError where no integer of 64 bits is that."""
    if is_symbolic(number):
        return number
    whole = int(number) if math.isfinite(number) else 1 << 63
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
    if plan.dtype not in INEXACT:
        for each in (start, end):
            check_number(each.real, int64)
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
