"""Arrays put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Along, Dim, NewDim
from opwright_core.arrays.devices import element_strides
from opwright_core.arrays.promotion import result_type
from opwright_core.arrays.sizes import holds
from opwright_core.plans.plan import Plan, PlanApart
from opwright_core.plans.specs import SpecCache, TensorSpec

_joined = SpecCache()
_stacked = SpecCache()


def cat(tensors: Sequence[Along], dim: Dim = 0) -> Plan:
    """Plan arrays joined along `dim`: promoted together; all shapes but that size are equal. 1-d empty arrays are
    skipped, as in PyTorch."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    key = (dim, tuple([(tensor.shape, tensor.strides, tensor.dtype) for tensor in tensors]))
    spec = _joined.get(key)
    spec = _joined.keep(key, _joined_spec(tensors, dim)) if spec is None else spec
    return PlanApart(spec, tensors, apart=tensors)


def _joined_spec(tensors: Sequence[Any], dim: int) -> TensorSpec:
    named = list(enumerate(tensors))
    named = [each for each in named if each[1].ndim != 1 or not layouts.is_empty(each[1].shape)] or named
    joined = [tensor for _, tensor in named]
    for position, tensor in enumerate(tensors):
        if tensor.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    first = joined[0]
    dim = layouts.wrap_dim(dim, first.ndim)
    for position, tensor in named[1:]:
        _check_joinable(first, tensor, dim, position)
    shape = (*first.shape[:dim], sum(tensor.shape[dim] for tensor in joined), *first.shape[dim + 1 :])
    common = result_type(*tensors)
    channels_last = len(shape) == 4 and all(
        layouts.is_channels_last(tensor.shape, element_strides(tensor))
        and not layouts.is_contiguous(tensor.shape, element_strides(tensor))
        for tensor in joined
    )
    strides = layouts.channels_last_strides(shape) if channels_last else layouts.contiguous_strides(shape)
    casts = tuple(tensor.dtype is not common for tensor in tensors)
    return TensorSpec(shape, strides, common, casts=casts, dims=(dim,))


def _check_joinable(first: Any, tensor: Any, dim: int, position: int) -> None:
    if tensor.ndim != first.ndim:
        raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {tensor.ndim}")
    for axis, (want, have) in enumerate(zip(first.shape, tensor.shape, strict=True)):
        if axis != dim and not holds(want == have):
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. "
                f"Expected size {want} but got size {have} for tensor number {position} in the list."
            )


def stack(tensors: Sequence[Along], dim: NewDim = 0) -> Plan:
    """Plan arrays of one shape joined along a new dimension. Raises RuntimeError naming the first that differs."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    key = (dim, tuple([(tensor.shape, tensor.dtype) for tensor in tensors]))
    spec = _stacked.get(key)
    return Plan(_stacked.keep(key, _stacked_spec(tensors, dim)) if spec is None else spec, tensors)


def _stacked_spec(tensors: Sequence[Any], dim: int) -> TensorSpec:
    shape = tensors[0].shape
    for position, tensor in enumerate(tensors):
        if not layouts.same_shape(tensor.shape, shape):
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
                f"and {list(tensor.shape)} at entry {position}"
            )
    dim = layouts.wrap_dim(dim, len(shape) + 1)
    joined = (*shape[:dim], len(tensors), *shape[dim:])
    common = result_type(*tensors)
    casts = tuple(tensor.dtype is not common for tensor in tensors)
    return TensorSpec(joined, layouts.contiguous_strides(joined), common, casts=casts, dims=(dim,))
