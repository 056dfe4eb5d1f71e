"""Elements by one index along a dimension, or in the order of memory, where the index may be batched, too."""

from __future__ import annotations

from typing import Any

import opwright
from opwright_core.arrays.dtypes import INEXACT, bool_
from opwright_kernels.batching.operands import Operand, every, first, flattened, rank, sample_numbers, spread

__all__ = [
    "first_positions",
    "index_add",
    "index_copy",
    "index_fill",
    "index_reduce",
    "index_select",
    "masked_scatter",
    "put",
    "select_scatter",
    "take",
]


def index_select(info: Any, in_dims: Any, self: Operand, dim: int, index: Operand) -> Any:
    """Return the slices that an index names."""
    aten = opwright.ops.aten
    own = rank(self, in_dims[0])
    axis = _checked(dim, own)
    if in_dims[2] is None:
        value = first(self, in_dims[0])
        if own == 0:
            return aten.squeeze.dim(aten.index_select(aten.unsqueeze(value, 1), 1, index), 1), 0
        return aten.index_select(value, axis + 1, index), 0
    value, positions = every(info, self, in_dims[0]), first(index, in_dims[2])
    _check_vector(positions)
    positions = flattened(positions)
    if own == 0:
        return aten.squeeze.dim(aten.gather(aten.unsqueeze(value, 1), 1, positions.long()), 1), 0
    return aten.gather(value, axis + 1, _beside(positions, value, axis)), 0


def _checked(dim: int, own: int) -> int:
    count = max(own, 1)
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return dim % count


def _check_vector(positions: Operand) -> None:
    if positions.ndim > 2:
        raise IndexError("index_select(): Index is supposed to be a vector")


def _beside(positions: Operand, value: Operand, axis: int) -> Operand:
    """Return a position for each element that a vector of positions along a dimension of samples names."""
    aten = opwright.ops.aten
    sizes = list(value.shape)
    sizes[axis + 1] = positions.shape[1]
    shape = [positions.shape[0], *[1] * (value.ndim - 1)]
    shape[axis + 1] = positions.shape[1]
    return aten.expand(aten.reshape(positions.long(), shape), sizes)


def _scattering(info: Any, in_dims: Any, self: Operand, dim: int, index: Operand, source: Operand) -> Any:
    """Return the value, the dimension, positions and source for a scatter; samples without dimensions get one."""
    aten = opwright.ops.aten
    own = rank(self, in_dims[0])
    axis = _checked(dim, own)
    value, positions = every(info, self, in_dims[0]), flattened(every(info, index, in_dims[2]))
    given = every(info, source, in_dims[3])
    if own == 0:
        value = aten.unsqueeze(value, 1)
    if given.ndim < value.ndim:
        given = aten.unsqueeze(given, 1)
    positions = _beside(positions, value, axis)
    if positions.shape != given.shape:
        raise RuntimeError(
            f"expected a source of size {list(positions.shape[1:])}, as index and self say, but got "
            f"{list(given.shape[1:])}"
        )
    return value, axis + 1, positions, given, own == 0


def _numbers(value: Operand, is_number: bool) -> Operand:
    return opwright.ops.aten.squeeze.dim(value, 1) if is_number else value


def index_add(
    info: Any, in_dims: Any, self: Operand, dim: int, index: Operand, source: Operand, *, alpha: Any = 1
) -> Any:
    """Return `self` with slices of `source` added at the positions that an index names."""
    value, axis, positions, given, is_number = _scattering(info, in_dims, self, dim, index, source)
    if given.dtype not in INEXACT:
        alpha = bool(alpha) if given.dtype is bool_ else int(alpha.real)
    if alpha != 1:
        given = opwright.ops.aten.mul.Scalar(given, alpha).to(given.dtype)
    return _numbers(opwright.ops.aten.scatter_add(value, axis, positions, given), is_number), 0


def index_copy(info: Any, in_dims: Any, self: Operand, dim: int, index: Operand, source: Operand) -> Any:
    """Return `self` with slices of `source` at the positions that an index names."""
    value, axis, positions, given, is_number = _scattering(info, in_dims, self, dim, index, source)
    return _numbers(opwright.ops.aten.scatter.src(value, axis, positions, given), is_number), 0


def index_reduce(
    info: Any,
    in_dims: Any,
    self: Operand,
    dim: int,
    index: Operand,
    source: Operand,
    reduce: str,
    *,
    include_self: bool = True,
) -> Any:
    """Return `self` reduced with slices of `source` at the positions that an index names."""
    value, axis, positions, given, is_number = _scattering(info, in_dims, self, dim, index, source)
    found = opwright.ops.aten.scatter_reduce.two(value, axis, positions, given, reduce, include_self=include_self)
    return _numbers(found, is_number), 0


def index_fill(info: Any, in_dims: Any, self: Operand, dim: int, index: Operand, value: Any) -> Any:
    """Return `self` with one value at the positions that an index names."""
    aten = opwright.ops.aten
    own = rank(self, in_dims[0])
    axis = _checked(dim, own)
    target, positions = every(info, self, in_dims[0]), flattened(every(info, index, in_dims[2]))
    if own == 0:
        target = aten.unsqueeze(target, 1)
    size = target.shape[axis + 1]
    indices = _beside(aten.where.self(positions < 0, positions + size, positions), target, axis)
    if not isinstance(value, opwright.Tensor):
        return _numbers(aten.scatter.value(target, axis + 1, indices, value), own == 0), 0
    given = every(info, value, in_dims[3])
    if given.ndim > 1:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got {given.ndim - 1} dimensions"
        )
    chosen = aten.scatter.value(aten.zeros_like(target, dtype=opwright.bool), axis + 1, indices, True)
    given = spread(given, target.ndim - 1).to(target.dtype)
    return _numbers(aten.where.self(chosen, given, target), own == 0), 0


def select_scatter(info: Any, in_dims: Any, self: Operand, src: Operand, dim: int, index: int) -> Any:
    """Return `self` with other samples at one position of a dimension."""
    value, given = every(info, self, in_dims[0]), every(info, src, in_dims[1])
    own = value.ndim - 1
    if not -own <= dim < own:
        raise IndexError(f"Dimension out of range: {dim} of a tensor of {own} dimensions")
    return opwright.ops.aten.select_scatter(value, given, dim % own + 1, index), 0


def take(info: Any, in_dims: Any, self: Operand, index: Operand) -> Any:
    """Return the elements of each sample, in the order of memory, at positions."""
    aten = opwright.ops.aten
    if in_dims[0] is None:
        return aten.take(self, first(index, in_dims[1])), 0
    value = flattened(first(self, in_dims[0]))
    positions = every(info, index, in_dims[1])
    size = value.shape[1]
    if positions.numel() and not size:
        raise IndexError("take(): tried to take from an empty tensor")
    flat = flattened(positions)
    found = aten.gather(value, 1, aten.where.self(flat < 0, flat + size, flat))
    return aten.reshape(found, list(positions.shape)), 0


def put(info: Any, in_dims: Any, self: Operand, index: Operand, source: Operand, accumulate: bool = False) -> Any:
    """Return `self` with other elements at positions in the order of memory."""
    aten = opwright.ops.aten
    value, positions, given = (every(info, *pair) for pair in zip((self, index, source), in_dims, strict=False))
    flat, indices, given = flattened(value), flattened(positions), flattened(given)
    found = aten.index_put(flat, [sample_numbers(info, self, 1), indices], given, accumulate)
    return aten.reshape(found, list(value.shape)), 0


def masked_scatter(info: Any, in_dims: Any, self: Operand, mask: Operand, source: Operand) -> Any:
    """Return `self` with elements of `source`, one after the other, where a mask is true. Raises RuntimeError for too
    few of them."""
    aten = opwright.ops.aten
    value, chosen = every(info, self, in_dims[0]), every(info, mask, in_dims[1])
    ndim = max(value.ndim, chosen.ndim) - 1
    value, chosen = aten.broadcast_tensors([spread(value, ndim), spread(chosen, ndim)])
    given, marks = flattened(every(info, source, in_dims[2])), flattened(chosen)
    indices = aten.cumsum(marks.long(), 1) - 1
    if not given.shape[1]:
        aten._assert_async.msg(aten.logical_not(marks.any()), "masked_scatter: expected a source with elements")
        return value.clone(), 0
    aten._assert_async.msg(
        (aten.sum.dim_IntList(marks.long(), [1]) <= given.shape[1]).all(),
        "masked_scatter: expected `source` to have as many elements as the mask has ones",
    )
    taken = aten.gather(given, 1, aten.clamp(indices, 0, given.shape[1] - 1))
    return aten.where.self(chosen, aten.reshape(taken, list(chosen.shape)), value), 0


def first_positions(info: Any, in_dims: Any, self: Operand, *, size: int, fill_value: int = -1) -> Any:
    """Return the positions of the first elements that are not zero: a stable sort brings these to the front."""
    aten = opwright.ops.aten
    value = first(self, in_dims[0])
    shape = value.shape[1:]
    is_zero = aten.reshape(aten.eq(value, 0), [value.shape[0], -1 if value.numel() else 0])
    order = aten.narrow(aten.sort(is_zero.to(opwright.uint8), dim=1, stable=True)[1], 1, 0, min(size, is_zero.shape[1]))
    order = aten.constant_pad_nd(order, [0, size - order.shape[1]])
    count = aten.sum(aten.logical_not(is_zero), [1], True)
    is_found = aten.unsqueeze(aten.arange(size, device=value.device) < count, -1)
    found = [order.new_zeros([*order.shape, 0])]
    for axis in reversed(range(len(shape))):
        found.insert(0, aten.unsqueeze(aten.remainder(order, max(shape[axis], 1)), -1))
        order = aten.floor_divide(order, max(shape[axis], 1))
    return aten.where(is_found, aten.cat(found, -1), fill_value), 0
