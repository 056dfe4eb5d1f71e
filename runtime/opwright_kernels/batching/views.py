"""Views: each gives a view of the value, so that writing to it writes to the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_kernels.batching.operands import Operand, every, first, rank, spread

__all__ = [
    "as_strided", "as_strided_scatter", "expand", "permute", "repeat", "reversed_dims", "squeeze", "transposed_matrix",
    "view_as_complex", "view_dtype",
]  # fmt: skip


def expand(info: Any, in_dims: Any, self: Operand, size: Sequence[int], implicit: bool = False) -> Any:
    """Return `self` expanded to sizes: new dimensions come after the batch."""
    value = first(self, in_dims[0])
    missing = len(size) - rank(self, in_dims[0])
    for _ in range(missing):
        value = value.unsqueeze(1)
    if missing < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({len(size) - missing})"
        )
    return opwright.ops.aten.expand(value, [info.batch_size, *size]), 0


def transposed_matrix(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return the transposed matrices; vectors and numbers as they are. Raises RuntimeError for more dimensions."""
    value = first(self, in_dims[0])
    if value.ndim > 3:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {value.ndim - 1}D")
    return (value.transpose(1, 2) if value.ndim == 3 else value.view(value.shape)), 0


def reversed_dims(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return the dimensions of samples in reverse order."""
    value = first(self, in_dims[0])
    return value.permute([0, *range(value.ndim - 1, 0, -1)]), 0


def squeeze(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return samples without their dimensions of size 1."""
    value = first(self, in_dims[0])
    dims = [dim for dim in range(1, value.ndim) if value.shape[dim] == 1]
    return opwright.ops.aten.squeeze.dims(value, dims), 0


def view_dtype(info: Any, in_dims: Any, self: Operand, dtype: Any) -> Any:
    """Return the memory seen as another dtype. Raises RuntimeError where numbers would change their size."""
    value = first(self, in_dims[0])
    if value.ndim == 1 and value.dtype.itemsize != dtype.itemsize:
        raise RuntimeError(f"self.dim() cannot be 0 to view {value.dtype} as {dtype} (different element sizes)")
    return opwright.ops.aten.view.dtype(value, dtype), 0


def view_as_complex(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return pairs of real numbers seen as complex ones. Raises RuntimeError for samples without dimensions."""
    value = first(self, in_dims[0])
    if value.ndim == 1:
        raise RuntimeError("Input tensor must have one or more dimensions")
    return opwright.ops.aten.view_as_complex(value), 0


def as_strided(
    info: Any,
    in_dims: Any,
    self: Operand,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """Return each sample's memory with these sizes and strides; an offset is that of the first sample.

    Raises RuntimeError where a sample would reach into memory that is not its own.
    """
    value = first(self, in_dims[0])
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: got {len(size)} sizes and {len(stride)} strides")
    start = value.storage_offset()
    offset = start if storage_offset is None else storage_offset
    last = offset + sum((each - 1) * step for each, step in zip(size, stride, strict=True))
    own = start + sum((each - 1) * step for each, step in zip(value.shape[1:], value.stride()[1:], strict=True))
    if 0 not in size and (offset < start or last > own):
        raise RuntimeError(
            f"as_strided: with sizes {list(size)}, strides {list(stride)} and storage_offset {offset} a sample would "
            f"reach beyond its own memory, which is not possible under vmap: the result of sizes {list(size)} is "
            "not in the bounds of the sample"
        )
    return opwright.ops.aten.as_strided(value, [info.batch_size, *size], [value.stride(0), *stride], offset), 0


def permute(info: Any, in_dims: Any, self: Operand, dims: Sequence[int]) -> Any:
    """Return samples with their dimensions in another order. Raises RuntimeError for another number of them."""
    value = first(self, in_dims[0])
    own = value.ndim - 1
    if len(dims) != own:
        raise RuntimeError(
            f"permute: number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {own} is not equal to len(dims) = {len(dims)}"
        )
    for dim in dims:
        if not -own <= dim < own:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-own}, {own - 1}], but got {dim})")
    return opwright.ops.aten.permute(value, [0, *[dim % own + 1 for dim in dims]]), 0


def repeat(info: Any, in_dims: Any, self: Operand, repeats: Sequence[int]) -> Any:
    """Return samples repeated along each dimension; new dimensions come after the batch."""
    value = first(self, in_dims[0])
    missing = len(repeats) + 1 - value.ndim
    if missing < 0:
        raise RuntimeError(
            f"repeat: {len(repeats)} repeats are fewer than the tensor's {value.ndim - 1} dimensions: Number of "
            "dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    return opwright.ops.aten.repeat(spread(value, len(repeats)), [1, *repeats]), 0


def as_strided_scatter(
    info: Any,
    in_dims: Any,
    self: Operand,
    src: Operand,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """Return samples with another tensor instead of what `as_strided` gives of them."""
    aten = opwright.ops.aten
    value = aten.clone(every(info, self, in_dims[0]), memory_format=opwright.contiguous_format)
    as_strided(info, (0,), value, size, stride, storage_offset)  # which raises what is wrong
    given = every(info, src, in_dims[1])
    strides = [value.stride(0), *stride]
    return aten.as_strided_scatter(value, given, [info.batch_size, *size], strides, storage_offset), 0
