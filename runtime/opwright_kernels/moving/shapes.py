"""Views: other shapes and strides over the same memory. No kernel here copies data.

Strides follow PyTorch, also where a dimension has size 1 or there are no elements (NumPy leaves them unspecified
there).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from types import ModuleType
from typing import Any

import numpy as np

from opwright.metadata.view_layouts import diagonal_length, infer_size, slice_bounds, view_strides
from opwright_core.arrays.dtypes import bfloat16
from opwright_core.arrays.layouts import check_countable, wrap_dim
from opwright_core.arrays.sizes import guard_or_false, guard_or_true, holds, is_place
from opwright_core.rules.dimensions import check_room

Array = Any
Shape = tuple[int, ...]
_WHOLE = (slice(None),) * 64


def strided(xp: ModuleType, self: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Return a view with this shape and these strides (in bytes), from the array's first element on."""
    if xp is np:
        if type(self) is np.ndarray and self.flags.c_contiguous and self.size and self.dtype is not bfloat16:
            try:  # several times as fast, for what stays within the array itself
                return np.ndarray(tuple(shape), self.dtype, self, 0, tuple(strides))
            except (ValueError, OverflowError):
                check_countable(tuple(shape), self.itemsize)
        if any(abs(step) >= 1 << 63 for step in strides):
            raise RuntimeError(f"a view's strides, {list(strides)} in bytes, are more than 64 bits hold")
        return np.lib.stride_tricks.as_strided(self, tuple(shape), tuple(strides))
    return xp.lib.stride_tricks.as_strided(self, tuple(shape), tuple(strides))


def transpose(xp: ModuleType, self: Array, dim0: int, dim1: int) -> Array:
    """Swap two dimensions. A 0-dim array stays."""
    ndim = self.ndim
    dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return self[...] if dim0 == dim1 else self.swapaxes(dim0, dim1)


def reversed_dims(xp: ModuleType, self: Array) -> Array:
    """Reverse all dimensions (`numpy_T`)."""
    return self.T


def matrix_transpose(xp: ModuleType, self: Array) -> Array:
    """Transpose an array of at most two dimensions (`t`). Raises RuntimeError for more."""
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T


def permute(xp: ModuleType, self: Array, dims: Sequence[int]) -> Array:
    """Put the dimensions in another order. Raises RuntimeError unless `dims` names each once."""
    ndim = self.ndim
    if len(dims) != ndim:
        raise RuntimeError(
            f"permute(): the tensor has {ndim} dimensions, but the ordering {list(dims)} names {len(dims)}"
        )
    order = [wrap_dim(dim, ndim) for dim in dims]
    if len(set(order)) != len(order):
        raise RuntimeError(f"permute(): duplicate dims are not allowed, but got {list(dims)}")
    return self.transpose(order)


def expand(xp: ModuleType, self: Array, size: Sequence[int], implicit: bool = False) -> Array:
    """Repeat dimensions of size 1 to `size` with stride 0, and put new ones in front; -1 keeps a size."""
    sizes, steps = self.shape, self.strides
    new = len(size) - len(sizes)
    if new < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the "
            f"number of dimensions in the tensor ({self.ndim})"
        )
    shape, strides = list(size), [0] * len(size)
    following = self.itemsize
    for i in range(len(size) - 1, -1, -1):
        if i < new:
            if not holds(size[i] >= 0):
                raise RuntimeError(
                    f"The expanded size of the tensor ({size[i]}) isn't allowed in a "
                    f"leading, non-existing dimension {i}"
                )
            strides[i] = following if sizes and guard_or_false(size[i] == 1) else 0
        else:
            have = sizes[i - new]
            strides[i] = steps[i - new]
            if size[i] is have:  # (small ints are one object: nothing to ask)
                following = have * strides[i]
                continue
            shape[i] = have if guard_or_false(size[i] == -1) else size[i]
            if guard_or_true(shape[i] != have):
                repeats = guard_or_false(have == 1)
                if not (holds(shape[i] >= 0) if repeats else holds(shape[i] == have)):
                    raise RuntimeError(
                        f"The expanded size of the tensor ({size[i]}) must match the existing size "
                        f"({have}) at non-singleton dimension {i}."
                        f"  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}"
                    )
                if repeats:
                    strides[i] = 0
        following = shape[i] * strides[i]
    return strided(xp, self, shape, strides)


def select(xp: ModuleType, self: Array, dim: int, index: int) -> Array:
    """Return the slice at `index` of `dim`, without that dimension. Raises IndexError outside of it."""
    if not self.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if not is_place(index, size):
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}"
        )
    return self[(*_WHOLE[:dim], index, ...)]


def take_slice(xp: ModuleType, self: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    """Return every `step`-th element of `dim` from `start` up to `end`, both held within the dimension. Raises
    RuntimeError unless step > 0."""
    if not self.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, self.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    size = self.shape[dim]
    first, last = slice_bounds(size, start, end)
    part = self[(*_WHOLE[:dim], slice(first, last, step))]
    along = self.strides[dim] * step
    if part.strides[dim] == along or along >= 1 << 63:  # a step over everything, which has one element
        return part
    return strided(xp, part, part.shape, (*self.strides[:dim], along, *self.strides[dim + 1 :]))


def unsqueeze(xp: ModuleType, self: Array, dim: int) -> Array:
    """Put in a dimension of size 1 at `dim`."""
    ndim, sizes, steps = self.ndim, self.shape, self.strides
    dim = wrap_dim(dim, ndim + 1)
    step = self.itemsize if dim == ndim else sizes[dim] * steps[dim]
    return strided(xp, self, (*sizes[:dim], 1, *sizes[dim:]), (*steps[:dim], step, *steps[dim:]))


def squeeze(xp: ModuleType, self: Array) -> Array:
    """Return the array without its dimensions of size 1."""
    return self.squeeze()


def squeeze_dims(xp: ModuleType, self: Array, dim: int | Sequence[int]) -> Array:
    """Return the array without those of the named dimensions that have size 1."""
    wrapped = [wrap_dim(each, self.ndim) for each in ((dim,) if isinstance(dim, int) else dim)]
    if len(wrapped) > 1:
        for each in wrapped:
            if wrapped.count(each) > 1:
                raise RuntimeError(f"dim {each} appears multiple times in the list of dims")
    return self.squeeze(tuple([each for each in wrapped if self.ndim and guard_or_false(self.shape[each] == 1)]))


def split(xp: ModuleType, self: Array, split_size: int, dim: int) -> list[Array]:
    """Return parts of `split_size` along `dim`, the last one smaller where it must be."""
    if not self.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    size = self.shape[wrap_dim(dim, self.ndim)]
    if guard_or_false(split_size == 0) and guard_or_true(size != 0):
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    parts = max((size + split_size - 1) // split_size, 1) if split_size else 1
    check_room(parts)
    return [take_slice(xp, self, dim, i * split_size, (i + 1) * split_size, 1) for i in range(parts)]


def split_sizes(xp: ModuleType, self: Array, split_sizes: Sequence[int], dim: int) -> list[Array]:
    """Return parts of the given sizes along `dim`. Raises RuntimeError unless they add up to the dimension."""
    if not self.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    size = self.shape[wrap_dim(dim, self.ndim)]
    if not all(holds(each >= 0) for each in split_sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but "
            f"got split_sizes={list(split_sizes)}"
        )
    if not holds(sum(split_sizes) == size):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}),"
            f" but got split_sizes={list(split_sizes)}"
        )
    ends = accumulate(split_sizes)
    return [take_slice(xp, self, dim, end - each, end, 1) for end, each in zip(ends, split_sizes, strict=True)]


def unbind(xp: ModuleType, self: Array, dim: int) -> list[Array]:
    """Return the slices of `dim`, without that dimension."""
    if not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    size = self.shape[wrap_dim(dim, self.ndim)]
    check_room(size)
    return [select(xp, self, dim, i) for i in range(size)]


def diagonal(xp: ModuleType, self: Array, offset: int, dim1: int, dim2: int) -> Array:
    """Return the diagonal of two dimensions, put last."""
    first, second = wrap_dim(dim1, self.ndim), wrap_dim(dim2, self.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = self.shape[first], self.shape[second]
    length = diagonal_length(rows, columns, offset)
    start = self
    if offset and guard_or_true(length != 0):
        start = (
            take_slice(xp, self, second, offset, None, 1)
            if offset > 0
            else take_slice(xp, self, first, -offset, None, 1)
        )
    rest = [i for i in range(self.ndim) if i not in (first, second)]
    shape = [self.shape[i] for i in rest] + [length]
    strides = [self.strides[i] for i in rest] + [self.strides[first] + self.strides[second]]
    return strided(xp, start, shape, strides)


def alias(xp: ModuleType, self: Array) -> Array:
    """Return the whole array, as a view."""
    return self[...]


def view(xp: ModuleType, self: Array, size: Sequence[int]) -> Array:
    """Return the same elements in another shape. Raises RuntimeError where strides cannot express it."""
    is_dense = type(self) is np.ndarray and self.flags.c_contiguous and self.size and 1 not in self.shape
    if is_dense and size and min(size) >= -1:
        try:
            return self.reshape(size)
        except ValueError:  # which `infer_size` tells in our words
            pass
    shape = infer_size(size, self.size)
    strides = view_strides(self.shape, self.strides, shape, self.itemsize)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride"
            " (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return strided(xp, self, shape, strides)
