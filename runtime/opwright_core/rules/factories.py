"""New arrays, of given sizes or like another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright_core.arrays.annotations import DtypeKinds, Size
from opwright_core.arrays.devices import Device, as_device
from opwright_core.arrays.dtypes import as_dtype, get_default_dtype, opmath
from opwright_core.arrays.layouts import contiguous_strides
from opwright_core.arrays.promotion import result_type
from opwright_core.arrays.sizes import SymbolicInt, holds
from opwright_core.plans.operands import (
    NUMBERS,
    check_accepted,
    formatted_strides,
    kept_strides,
    memory_format_name,
    needs_cast,
)
from opwright_core.plans.plan import Plan, PlanApart
from opwright_core.plans.specs import SpecCache, TensorSpec

_CPU = Device("cpu")
_likes = SpecCache()
_sized = SpecCache()
_of_operands = SpecCache()


def like(self: Any, *, dtype: object = None, memory_format: object = None) -> Plan:
    """Plan a result of the shape of `self`, as `empty_like` makes it: dense inputs keep their strides, others
    TensorIterator's order. It says nothing of elements, so no dimension rule follows: `pointwise` gives one.

    `memory_format`: None or `preserve_format`, `contiguous_format`, `channels_last`, `channels_last_3d`.
    """
    return Plan(_like_spec(self, dtype, memory_format, None, False, False), (self,))


def overwritten(
    self: Any,
    *,
    accepts: DtypeKinds | None = None,
    memory_format: object = None,
    may_overlap: bool = False,
    reads: Any = None,
) -> Plan:
    """Plan a result like `self` that does not depend on it elementwise, or that the kernel begins with: written in
    position as it is (`fill`).

    `may_overlap`: it writes in place even where elements share memory, as some of PyTorch's do. `reads`: another array
    that the kernel looks at, which may share no part of the memory alone.
    """
    spec = _like_spec(self, None, memory_format, accepts, True, may_overlap)
    return Plan(spec, (self,)) if reads is None else PlanApart(spec, (self,), beside=(self, reads))


def _like_spec(
    self: Any, dtype: object, memory_format: object, accepts: str | None, pointwise: bool, may_overlap: bool
) -> TensorSpec:
    key = (self.shape, self.strides, self.dtype, dtype, memory_format, accepts, pointwise, may_overlap)
    spec = _likes.get(key)
    if spec is None:
        kept = as_dtype(self.dtype)
        check_accepted(accepts, kept)
        chosen = memory_format_name(memory_format)
        is_kept = chosen in (None, "preserve_format")
        strides = kept_strides(self) if is_kept else formatted_strides(self.shape, chosen)
        result = kept if dtype is None else as_dtype(dtype)
        spec = _likes.keep(key, TensorSpec(self.shape, strides, result, pointwise=pointwise, may_overlap=may_overlap))
    return spec


def empty(
    size: int | Size,
    *,
    dtype: object = None,
    device: object = None,
    memory_format: object = None,
    stride: Sequence[int] | None = None,
) -> Plan:
    """Plan a new array of this size: the default dtype, the CPU and row-major strides unless told otherwise.

    Raises RuntimeError for a negative size, and for strides of another number than sizes.
    """
    shape = (size,) if isinstance(size, int) else tuple(size)
    key = (shape, dtype, memory_format, None if stride is None else tuple(stride))
    spec = _sized.get(key)
    if spec is None:
        _check_sizes(shape)
        strides = formatted_strides(shape, memory_format_name(memory_format)) if stride is None else tuple(stride)
        if len(strides) != len(shape):
            raise RuntimeError(f"there must be as many sizes as strides, got {list(shape)} and {list(strides)}")
        spec = _sized.keep(key, TensorSpec(shape, strides, get_default_dtype() if dtype is None else as_dtype(dtype)))
    return Plan(spec, device=_CPU if device is None else as_device(device))


def _check_sizes(shape: Sequence[int]) -> None:
    for length in shape:
        if not holds(length >= 0):
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {list(shape)}")


def sized(size: int | Sequence[int], *operands: Any, dtype: object = None, accepts: DtypeKinds | None = None) -> Plan:
    """Plan a new array of this size, row-major, on the device of the operands: `sized([indptr.shape[0] - 1], values)`.

    Operands are promoted together, and the kernel gets them in that dtype; it is the result's, too, unless `dtype` is
    given. `accepts` lists the kinds of it that are handled, as for `pointwise`. Other arguments of the operator reach
    the kernel as they are. Raises RuntimeError for a negative size, DispatchError for a dtype that is not accepted.
    """
    shape = (size,) if isinstance(size, int | SymbolicInt) else tuple(size)
    kinds = [type(each) if isinstance(each, NUMBERS) else (each.ndim, each.dtype) for each in operands]
    key = (shape, dtype, accepts, *kinds)
    spec = _of_operands.get(key)
    if spec is None:
        _check_sizes(shape)
        common = result_type(*operands) if operands else get_default_dtype()
        check_accepted(accepts, common)
        compute = opmath(common)
        casts = tuple([needs_cast(each, compute) for each in operands])
        result = common if dtype is None else as_dtype(dtype)
        made = TensorSpec(shape, contiguous_strides(shape), result, common, compute, None, casts)
        spec = _of_operands.keep(key, made)
    return Plan(spec, operands)
