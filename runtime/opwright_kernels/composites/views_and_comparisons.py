"""Operators that are made of others. They see Tensors of any device."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import opwright
from opwright.autograd.quick import is_array_alone
from opwright.metadata.view_layouts import as_strided as stride_storage
from opwright.metadata.view_layouts import infer_size, view_strides, with_own_version, without_base
from opwright.namespaces import aten
from opwright_core import rules
from opwright_core.arrays import layouts
from opwright_core.arrays.devices import backend_of
from opwright_core.arrays.dtypes import INEXACT, as_dtype, bool_
from opwright_core.arrays.sizes import check, from_front, guard_or_false, holds
from opwright_core.arrays.storage import resize, storage_of
from opwright_core.keys import NONDENSE
from opwright_core.tensors.tensor import wrap, wrap_view
from opwright_kernels.plain import arrays_of

Operand = Any  # a Tensor


def _strides(operand: Operand) -> tuple[int, ...]:
    return tuple(backend_of(operand.array).strides(operand.array))


# Comparisons


def isclose(self: Operand, other: Operand, rtol: float, atol: float, equal_nan: bool) -> Operand:
    """Whether |self - other| <= atol + rtol * |other|; infinities are close to themselves alone, NaNs if
    `equal_nan`."""
    if self.dtype != other.dtype:
        raise RuntimeError(f"{self.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    close = opwright.eq(self, other)
    dtype = as_dtype(self.dtype)
    inexact = dtype in INEXACT
    if inexact and equal_nan:
        close = opwright.logical_or(close, opwright.logical_and(opwright.ne(self, self), opwright.ne(other, other)))
    if rtol == 0 and atol == 0:
        return close
    if not inexact:
        self, other = (aten["to"](each, opwright.get_default_dtype()) for each in (self, other))
    allowed = opwright.add(opwright.abs(opwright.mul(other, rtol)), atol)
    distance = opwright.abs(opwright.sub(self, other))
    near = opwright.logical_and(opwright.isfinite(distance), opwright.le(distance, allowed))
    return opwright.logical_or(close, near)


def allclose(self: Operand, other: Operand, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Whether all elements are close."""
    close: bool = aten["item"](aten["all"](isclose(self, other, rtol, atol, equal_nan)))
    return close


# Shapes


def reshape(self: Operand, shape: Sequence[int]) -> Operand:
    """Return the elements in another shape: a view where strides can say it, else a copy."""
    if not self.keys & NONDENSE:  # row-major: strides can always say it
        return aten["view.default"](self, list(shape))
    new = infer_size(shape, prod(self.shape))
    if view_strides(tuple(self.shape), _strides(self), new, 1) is not None:
        return aten["view.default"](self, new)
    found = arrays_of(self)
    if found is not None:  # the fast path
        return wrap(np.ascontiguousarray(found[0]).reshape(new))
    return aten["_unsafe_view.default"](aten["clone.default"](self, memory_format=opwright.contiguous_format), new)


def _unsafe_view(self: Operand, size: Sequence[int]) -> Operand:
    """Return what `view` gives of memory that nobody else holds: no view, as far as autograd goes."""
    viewed = aten["view"](self, size)
    return _apart(viewed)


def _apart(viewed: Operand) -> Operand:
    """Return a view as a tensor of its own: writes to it are not those of the tensor it was taken from."""
    return with_own_version(without_base(viewed))


def flatten(self: Operand, start_dim: int, end_dim: int) -> Operand:
    """Return the dimensions from `start_dim` to `end_dim`, inclusive, made one."""
    shape = list(self.shape)
    first, last = (layouts.wrap_dim(dim, len(shape)) for dim in (start_dim, end_dim))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(self, [1])
    if first == last:
        return self
    return reshape(self, [*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]])


def chunk(self: Operand, chunks: int, dim: int) -> list[Operand]:
    """Return at most `chunks` parts of equal size along `dim`, the last one smaller where it must be."""
    part = _size_of_chunks(self, chunks, dim)
    if guard_or_false(part == 0):
        return list(aten["split_with_sizes"](self, [0] * chunks, dim))
    return list(aten["split"](self, part, dim))


def _size_of_chunks(self: Operand, chunks: int, dim: int) -> int:
    if not self.shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size: int = self.shape[layouts.wrap_dim(dim, len(self.shape))]
    return -(-size // chunks)


def unsafe_split(self: Operand, split_size: int, dim: int) -> list[Operand]:
    """Return what `split` gives of memory that nobody else holds: no views, as far as autograd goes."""
    return [_apart(part) for part in aten["split"](self, split_size, dim)]


def unsafe_split_with_sizes(self: Operand, split_sizes: Sequence[int], dim: int) -> list[Operand]:
    """Return what `split_with_sizes` gives of memory that nobody else holds: no views, as far as autograd goes."""
    return [_apart(part) for part in aten["split_with_sizes"](self, split_sizes, dim)]


def unsafe_chunk(self: Operand, chunks: int, dim: int) -> list[Operand]:
    """Return what `chunk` gives of memory that nobody else holds: no views, as far as autograd goes."""
    part = _size_of_chunks(self, chunks, dim)
    if guard_or_false(part == 0):
        return list(aten["unsafe_split_with_sizes"](self, [0] * chunks, dim))
    return list(aten["unsafe_split"](self, part, dim))


def narrow(self: Operand, dim: int, start: int | Operand, length: int) -> Operand:
    """Return `length` positions of `dim` from `start` on, which may be a 0-dim integer tensor."""
    if hasattr(start, "shape"):
        start = _as_start(start)
    if not self.shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    check(length >= 0, "narrow(): length must be non-negative.")
    size = self.shape[layouts.wrap_dim(dim, len(self.shape))]
    if not (holds(-size <= start) and holds(start <= size)):
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    first = from_front(start, size)
    check(first <= size - length, lambda: f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return aten["slice.Tensor"](self, dim, first, first + length, 1)


def _as_start(start: Operand) -> Any:
    dtype = as_dtype(start.dtype)
    if start.shape or dtype in INEXACT or dtype is bool_:
        raise RuntimeError(f"narrow: start must be a 0-dim integer tensor, but is {dtype}{list(start.shape)}")
    return item(start)


def movedim(self: Operand, source: Sequence[int], destination: Sequence[int]) -> Operand:
    """Return some dimensions moved to other positions, the rest in order around them."""
    ndim = len(self.shape)
    if len(source) != len(destination):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(source)} dims) should contain the same number of dims as destination ({list(destination)} dims)"
        )
    given, placed = ([layouts.wrap_dim(dim, ndim) for dim in dims] for dims in (source, destination))
    for name, wrapped in (("source", given), ("destination", placed)):
        if len(set(wrapped)) != len(wrapped):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({wrapped})")
    rest = iter([dim for dim in range(ndim) if dim not in given])
    target = dict(zip(placed, given, strict=True))
    return aten["permute.default"](
        self, [target[position] if position in target else next(rest) for position in range(ndim)]
    )


def as_strided(self: Operand, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Operand:
    """Return a view of the whole storage, with any shape, strides and offset in elements."""
    offset = self.storage_offset() if storage_offset is None else storage_offset
    return wrap_view(self, stride_storage(storage_of(self), tuple(size), tuple(stride), offset, self.dtype))


def as_strided_scatter(
    self: Operand, src: Operand, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Operand:
    """Return a copy of the tensor with `src` instead of what `as_strided` shows of its storage."""
    arrays = arrays_of(self, src) if storage_offset is None else None
    if arrays is not None:
        found = _scattered(arrays[0], arrays[1], size, stride)
        if found is not None:
            return wrap(found)
    shape, strides, offset = self.shape, self.stride(), self.storage_offset()
    whole = aten["clone"](aten["as_strided"](self, [storage_of(self).flat(self.dtype).shape[0]], [1], 0))
    part = aten["as_strided"](whole, size, stride, offset if storage_offset is None else storage_offset)
    if not layouts.same_shape(tuple(part.shape), tuple(src.shape)):
        raise RuntimeError(
            f"expected src to have the shape of what it takes the place of, {list(part.shape)}, "
            f"but got {list(src.shape)}"
        )
    aten["copy_"](part, src)
    if layouts.may_overlap_itself(shape, strides):
        return aten["clone"](aten["as_strided"](whole, shape, strides, offset))
    return aten["as_strided_"](whole, shape, strides, offset)


def _scattered(array: Any, src: Any, size: Sequence[int], stride: Sequence[int]) -> Any:
    """Return an array that is its storage, with `src` where the strides say; None where they leave it, or overlap."""
    last = sum([(count - 1) * step for count, step in zip(size, stride, strict=False)])
    if (
        array.base is not None
        or not array.flags.c_contiguous
        or tuple(size) != src.shape
        or len(size) != len(stride)
        or min(stride, default=0) < 0
        or min(size, default=0) < 1
        or last >= array.size
        or layouts.may_overlap_itself(tuple(size), tuple(stride))
    ):
        return None
    result = array.copy()
    np.ndarray(size, array.dtype, result, 0, [step * array.itemsize for step in stride])[...] = src
    return result


def resize_(self: Operand, size: Sequence[int], memory_format: Any) -> Operand:
    """Give a tensor another shape over its own storage, which grows if it must.

    Raises RuntimeError for a tensor that requires grad.
    """
    if self.requires_grad:
        raise RuntimeError(f"cannot resize a tensor that requires grad (from {list(self.shape)})")
    plan = rules.empty(size, memory_format=memory_format)
    if tuple(self.shape) != plan.shape or memory_format is not None:
        resize(self, plan.shape, plan.strides)
    return self


def masked_select(self: Operand, mask: Operand) -> Operand:
    """Return the elements where the mask is true, as a 1-d tensor; the two broadcast."""
    if as_dtype(mask.dtype) != opwright.bool:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {mask.dtype}")
    if is_array_alone(self) and is_array_alone(mask) and self.array.shape == mask.array.shape:
        return wrap(self.array[mask.array])
    shape = layouts.broadcast_shapes([tuple(self.shape), tuple(mask.shape)])
    if tuple(self.shape) == tuple(mask.shape) and lies_in(self, None) and lies_in(mask, None):
        return aten["index"](aten["reshape"](self, [-1]), [aten["reshape"](mask, [-1])])  # NumPy is fastest at one
    return aten["index"](aten["expand"](self, shape), [aten["expand"](mask, shape)])


# Copies


def item(self: Operand) -> complex:
    """Return the one element as a Python number. Raises RuntimeError unless there is exactly one."""
    count = prod(self.shape)
    check(count == 1, lambda: f"a Tensor with {count} elements cannot be converted to Scalar")
    number: complex = aten["_local_scalar_dense"](self)
    return number


def contiguous(self: Operand, memory_format: Any) -> Operand:
    """Return the tensor itself if its elements lie in the order of `memory_format`, else a copy in which they do."""
    if lies_in(self, memory_format):
        return self
    return aten["clone.default"](self, memory_format=memory_format)


def lies_in(self: Operand, memory_format: Any) -> bool:
    """Whether the elements lie in the order that a memory format says."""
    is_channels_last = getattr(memory_format, "name", "").startswith("channels_last")
    if not is_channels_last and type(self.array) is np.ndarray:
        return self.array.flags.c_contiguous
    in_order = layouts.is_channels_last if is_channels_last else layouts.is_contiguous
    return in_order(tuple(self.shape), _strides(self))
