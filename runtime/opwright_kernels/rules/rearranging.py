"""Copies that rearrange, repeat or frame the elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.metadata.view_layouts import diagonal_length, slice_bounds
from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Along, Batches, Channels, Dim, Dims, Matrices, NewDim, Shifts
from opwright_core.arrays.dtypes import as_dtype, int32, int64
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.promotion import result_type
from opwright_core.arrays.sizes import from_front, holds, is_place
from opwright_core.errors import DispatchError
from opwright_core.plans.operands import kept_strides
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_core.rules.dimensions import wrap_dims
from opwright_core.rules.factories import empty
from opwright_kernels.rules.creation import own_strides
from opwright_kernels.rules.memory_formats import suggested_strides


def flipped(self: Along, dims: Dims) -> Plan:
    """Plan `self` with some dimensions in reverse order: its shape, and the strides of `empty_like`."""
    if dims:
        wrap_dims(dims, self.ndim)
    return _plan(self, self.shape, kept_strides(self))


def rolled(self: Along, shifts: Shifts, dims: Dims) -> Plan:
    """Plan `self` with its elements moved along `dims`, those that fall off coming in at the other end; along all of
    them in row-major order where there are none. Contiguous, channels last like `self`."""
    if not shifts:
        raise RuntimeError("roll: expected at least one shift")
    if len(dims) != len(shifts) and (dims or len(shifts) > 1):
        raise RuntimeError(f"roll: {len(shifts)} shifts and {len(dims)} dims do not go together")
    if layouts.is_empty(self.shape):
        return _plan(self, self.shape, kept_strides(self))
    if dims and not self.ndim:
        raise IndexError(f"roll: dims {list(dims)} of a 0-dim tensor")
    for dim in dims:
        layouts.wrap_dim(dim, self.ndim)
    return _plan(self, self.shape, suggested_strides(self.shape, self) if dims else None)


def rotated(self: Along, k: int, dims: Dims) -> Plan:
    """Plan `self` turned by `k` right angles in the plane of two dimensions: flipped, and transposed if `k` is odd."""
    if len(dims) != 2:
        raise RuntimeError(f"rot90: expected 2 dims to rotate, but got {len(dims)}")
    if self.ndim < 2:
        raise RuntimeError(f"rot90: expected at least 2 dimensions, but got {self.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == self.ndim:
        raise RuntimeError(f"rot90: expected two different dims, but got {list(dims)}")
    first, second = (layouts.wrap_dim(dim, self.ndim) for dim in dims)
    if k % 4 == 0:
        return _plan(self, self.shape)
    strides = kept_strides(self)
    if k % 2 == 0:
        return _plan(self, self.shape, strides)
    return _plan(self, _swapped(self.shape, first, second), _swapped(strides, first, second))


def _swapped(sizes: Shape, first: int, second: int) -> Shape:
    swapped = list(sizes)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    return tuple(swapped)


def repeated(self: Any, repeats: Sequence[int]) -> Plan:
    """Plan `self` so often along each dimension; more repeats than dimensions are new ones in front. Contiguous."""
    new = len(repeats) - self.ndim
    if new < 0:
        raise RuntimeError(f"repeat: {len(repeats)} repeats are fewer than the tensor's {self.ndim} dimensions")
    if not all(holds(each >= 0) for each in repeats):
        raise RuntimeError(f"repeat: expected repeats that are not negative, but got {list(repeats)}")
    sizes = [size * times for size, times in zip(self.shape, repeats[new:], strict=True)]
    return _plan(self, (*repeats[:new], *sizes))


def narrowed(self: Along, dim: Dim, start: int, length: int) -> Plan:
    """Plan `length` positions of `dim` from `start` on, as a contiguous copy."""
    if not self.ndim:
        raise RuntimeError("narrow_copy: expected at least one dimension, but got a 0-dim tensor")
    dim = layouts.wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if not holds(length >= 0):
        raise RuntimeError("narrow_copy: length must not be negative")
    if not (holds(-size <= start) and holds(start <= size)):
        raise IndexError(f"narrow_copy: start {start} is out of range for dimension {dim} of size {size}")
    if not holds(from_front(start, size) + length <= size):
        raise RuntimeError(f"narrow_copy: start {start} and length {length} exceed dimension {dim} of size {size}")
    return _plan(self, (*self.shape[:dim], length, *self.shape[dim + 1 :]))


def slice_overlaid(self: Along, src: Along, dim: Dim, start: int | None, end: int | None, step: int) -> Plan:
    """Plan `self` with another array instead of a slice. Raises RuntimeError where it is of another shape."""
    if not self.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = layouts.wrap_dim(dim, self.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, last = slice_bounds(self.shape[dim], start, end)
    return _overlaid(self, src, (*self.shape[:dim], (last - first + step - 1) // step, *self.shape[dim + 1 :]))


def selection_overlaid(self: Along, src: Along, dim: Dim, index: int) -> Plan:
    """Plan `self` with another array at one position of a dimension. Raises IndexError where there is no such position,
    RuntimeError where the array is of another shape."""
    if not self.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = layouts.wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if not is_place(index, size):
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}"
        )
    return _overlaid(self, src, (*self.shape[:dim], *self.shape[dim + 1 :]))


def diagonal_overlaid(self: Along, src: Along, offset: int, dim1: Dim, dim2: Dim) -> Plan:
    """Plan `self` with another array instead of a diagonal. Raises RuntimeError where it is of another shape."""
    first, second = layouts.wrap_dim(dim1, self.ndim), layouts.wrap_dim(dim2, self.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = diagonal_length(self.shape[first], self.shape[second], offset)
    rest = [self.shape[dim] for dim in range(self.ndim) if dim not in (first, second)]
    return _overlaid(self, src, (*rest, length))


def _overlaid(self: Any, src: Any, part: Shape) -> Plan:
    """Plan the shape and strides of `self`."""
    if not layouts.same_shape(part, src.shape):
        raise RuntimeError(
            f"expected src to have the shape of what it takes the place of, {list(part)}, but got {list(src.shape)}"
        )
    return Plan(TensorSpec(self.shape, own_strides(self), as_dtype(self.dtype)), (self, src))


def with_diagonal(self: Along, offset: int, dim1: NewDim, dim2: NewDim) -> Plan:
    """Plan matrices, in two new dimensions, with the last dimension of `self` on a diagonal."""
    ndim = self.ndim + 1
    first, second = layouts.wrap_dim(dim1, ndim), layouts.wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diag_embed: expected two different dimensions, but got {dim1} and {dim2}")
    if not self.ndim:
        raise IndexError("diag_embed: expected at least one dimension, but got a 0-dim tensor")
    size = self.shape[-1] + abs(offset)
    rest = iter(self.shape[:-1])
    return _plan(self, tuple([size if dim in (first, second) else next(rest) for dim in range(ndim)]))


def block_diagonal(tensors: Sequence[Any]) -> Plan:
    """Plan matrices along the diagonal of one, promoted together; a vector is a row, a number a 1 × 1 matrix."""
    rows = columns = 0
    for position, tensor in enumerate(tensors):
        if tensor.ndim > 2:
            raise RuntimeError(f"block_diag: expected at most 2 dimensions, but input {position} has {tensor.ndim}")
        rows += tensor.shape[0] if tensor.ndim == 2 else 1
        columns += tensor.shape[-1] if tensor.ndim else 1
    common = result_type(*tensors)
    casts = tuple([tensor.dtype is not common for tensor in tensors])
    shape = (rows, columns)
    return Plan(TensorSpec(shape, layouts.contiguous_strides(shape), common, casts=casts), tensors)


def triangle(self: Matrices) -> Plan:
    """Plan the lower or the upper triangle of matrices: the shape of `self`, contiguous."""
    if self.ndim < 2:
        raise RuntimeError(f"tril and triu expect at least 2 dimensions, but got {self.ndim}")
    return _plan(self, self.shape)


def triangle_indices(row: int, col: int, offset: int, *, upper: bool, dtype: object, device: object) -> Plan:
    """Plan the row and the column of each element of a triangle: two rows of int64 or int32, as in PyTorch."""
    if row < 0 or col < 0:
        raise RuntimeError(f"expected sizes that are not negative, but got {row} rows and {col} columns")
    below = _triangle_size(row, col, offset - 1 if upper else offset)
    plan = empty([2, row * col - below if upper else below], dtype=dtype, device=device)
    if plan.dtype not in (int32, int64):
        raise DispatchError(f"{'triu' if upper else 'tril'}_indices: not implemented for {plan.dtype}")
    return plan


def _triangle_size(rows: int, columns: int, offset: int) -> int:
    """Return the number of elements on and below a diagonal."""
    # Row i has offset + 1 + i of them, at least none and at most all: a trapezium, and then full rows.
    first = offset + 1
    skipped = -first if first < 0 else 0
    if skipped >= rows:
        return 0
    start = first + skipped
    if start >= columns:
        return (rows - skipped) * columns
    growing = columns - start
    if growing > rows - skipped:
        growing = rows - skipped
    return growing * start + growing * (growing - 1) // 2 + (rows - skipped - growing) * columns


def shuffled(self: Batches, groups: int) -> Plan:
    """Plan the channels of `groups` groups in turn (`channel_shuffle`): the shape of `self`, channels last like it."""
    if self.ndim < 3:
        raise RuntimeError(f"channel_shuffle: expected more than 2 dimensions, but got {self.ndim}")
    if groups <= 0:
        raise RuntimeError(f"channel_shuffle: the number of groups must be positive, but is {groups}")
    if not holds(self.shape[1] % groups == 0):
        raise RuntimeError(f"channel_shuffle: {self.shape[1]} channels do not divide into {groups} groups")
    return _plan(self, self.shape, suggested_strides(self.shape, self))


def pixels_from_channels(self: Channels, factor: int) -> Plan:
    """Plan `pixel_shuffle`: an image larger by `factor` in both directions, of fewer channels."""
    channels, height, width = _image(self, factor, "pixel_shuffle")
    if not holds(channels % (factor * factor) == 0):
        raise RuntimeError(f"pixel_shuffle: {channels} channels are no multiple of the square of factor {factor}")
    shape = (*self.shape[:-3], channels // (factor * factor), height * factor, width * factor)
    return _plan(self, shape, suggested_strides(shape, self))


def channels_from_pixels(self: Channels, factor: int) -> Plan:
    """Plan `pixel_unshuffle`: an image smaller by `factor` in both directions, of more channels."""
    channels, height, width = _image(self, factor, "pixel_unshuffle")
    for name, size in (("height", height), ("width", width)):
        if not holds(size % factor == 0):
            raise RuntimeError(f"pixel_unshuffle: {name} {size} is no multiple of factor {factor}")
    shape = (*self.shape[:-3], channels * factor * factor, height // factor, width // factor)
    return _plan(self, shape, suggested_strides(shape, self))


def _image(self: Any, factor: int, name: str) -> Shape:
    if self.ndim < 3:
        raise RuntimeError(f"{name}: expected at least 3 dimensions, but got {self.ndim}")
    if factor <= 0:
        raise RuntimeError(f"{name}: expected a positive factor, but got {factor}")
    sizes: Shape = self.shape[-3:]
    return sizes


def _plan(self: Any, shape: Shape, strides: Shape | None = None) -> Plan:
    steps = layouts.contiguous_strides(shape) if strides is None else strides
    return Plan(TensorSpec(shape, steps, as_dtype(self.dtype)), (self,))
