"""The copying counterparts of views: what the view shows, as a new contiguous tensor, of Tensors on any device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base

Operand = Any  # a Tensor


def _copied(view: Operand) -> Operand:
    return opwright.ops.aten.clone(view, memory_format=opwright.contiguous_format)


def alias_copy(self: Operand) -> Operand:
    """Return a copy of `alias`."""
    return _copied(opwright.ops.aten.alias(self))


def as_strided_copy(self: Operand, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Operand:
    """Return a copy of `as_strided`."""
    return _copied(opwright.ops.aten.as_strided(self, size, stride, storage_offset))


def detach_copy(self: Operand) -> Operand:
    """Return a copy of `detach`."""
    return _copied(opwright.ops.aten.detach(self))


def lift_fresh_copy(self: Operand) -> Operand:
    """Return a copy of `lift_fresh`."""
    return _copied(opwright.ops.aten.lift_fresh(self))


def diagonal_copy(self: Operand, offset: int, dim1: int, dim2: int) -> Operand:
    """Return a copy of `diagonal`."""
    return _copied(opwright.ops.aten.diagonal(self, offset, dim1, dim2))


def expand_copy(self: Operand, size: Sequence[int], implicit: bool) -> Operand:
    """Return a copy of `expand`."""
    return _copied(opwright.ops.aten.expand(self, size, implicit=implicit))


def permute_copy(self: Operand, dims: Sequence[int]) -> Operand:
    """Return a copy of `permute`."""
    return _copied(opwright.ops.aten.permute(self, dims))


def _reshape_alias_copy(self: Operand, size: Sequence[int], stride: Sequence[int]) -> Operand:
    """Return a copy of `_reshape_alias`."""
    return _copied(opwright.ops.aten._reshape_alias(self, size, stride))


def select_copy(self: Operand, dim: int, index: int) -> Operand:
    """Return a copy of `select`."""
    return _copied(opwright.ops.aten.select(self, dim, index))


def slice_copy(self: Operand, dim: int, start: int | None, end: int | None, step: int) -> Operand:
    """Return a copy of `slice`."""
    return _copied(opwright.ops.aten.slice(self, dim, start, end, step))


def squeeze_copy(self: Operand, *dim: int | Sequence[int]) -> Operand:
    """Return a copy of `squeeze`, of all dimensions or of those named."""
    return _copied(opwright.ops.aten.squeeze(self, *dim))


def t_copy(self: Operand) -> Operand:
    """Return a copy of `t`."""
    return _copied(opwright.ops.aten.t(self))


def transpose_copy(self: Operand, dim0: int, dim1: int) -> Operand:
    """Return a copy of `transpose`."""
    return _copied(opwright.ops.aten.transpose(self, dim0, dim1))


def unfold_copy(self: Operand, dimension: int, size: int, step: int) -> Operand:
    """Return a copy of `unfold`."""
    return _copied(opwright.ops.aten.unfold(self, dimension, size, step))


def unsqueeze_copy(self: Operand, dim: int) -> Operand:
    """Return a copy of `unsqueeze`."""
    return _copied(opwright.ops.aten.unsqueeze(self, dim))


def view_as_complex_copy(self: Operand) -> Operand:
    """Return a copy of `view_as_complex`."""
    return _copied(opwright.ops.aten.view_as_complex(self))


def view_as_real_copy(self: Operand) -> Operand:
    """Return a copy of `view_as_real`."""
    return _copied(opwright.ops.aten.view_as_real(self))


def view_copy(self: Operand, size_or_dtype: Any) -> Operand:
    """Return a copy in another shape, which no strides need express, or a copy of a view of another dtype."""
    aten = opwright.ops.aten
    if not isinstance(size_or_dtype, list):
        return _copied(aten.view(self, size_or_dtype))
    return without_base(aten.view(_copied(self), size_or_dtype))


def split_copy(self: Operand, split_size: int, dim: int) -> list[Operand]:
    """Return copies of `split`."""
    return [_copied(each) for each in opwright.ops.aten.split.Tensor(self, split_size, dim)]


def split_with_sizes_copy(self: Operand, split_sizes: Sequence[int], dim: int) -> list[Operand]:
    """Return copies of `split_with_sizes`."""
    return [_copied(each) for each in opwright.ops.aten.split_with_sizes(self, split_sizes, dim)]


def unbind_copy(self: Operand, dim: int) -> list[Operand]:
    """Return copies of `unbind`."""
    return [_copied(each) for each in opwright.ops.aten.unbind(self, dim)]
