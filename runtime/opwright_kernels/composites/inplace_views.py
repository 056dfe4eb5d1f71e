"""Views in place: a tensor that goes on with another shape and other strides over its own storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.autograd.nodes import AccumulateGrad
from opwright.autograd.recording import leave_graph
from opwright.autograd.saved import note_detached
from opwright.metadata.view_layouts import become_view
from opwright_kernels.rules.memory_formats import suggests_channels_last

Operand = Any  # a Tensor


def _become(self: Operand, viewed: Operand) -> Operand:
    become_view(self, viewed)
    if type(self.edge) is AccumulateGrad:
        self.edge = self.edge.follow(self)
    return self


def t_(self: Operand) -> Operand:
    """Apply `t` in place."""
    return _become(self, opwright.ops.aten.t(self))


def transpose_(self: Operand, dim0: int, dim1: int) -> Operand:
    """Apply `transpose` in place."""
    return _become(self, opwright.ops.aten.transpose(self, dim0, dim1))


def unsqueeze_(self: Operand, dim: int) -> Operand:
    """Apply `unsqueeze` in place."""
    return _become(self, opwright.ops.aten.unsqueeze(self, dim))


def squeeze_(self: Operand) -> Operand:
    """Apply `squeeze` in place."""
    return _become(self, opwright.ops.aten.squeeze(self))


def squeeze_dims_(self: Operand, dim: int | Sequence[int]) -> Operand:
    """Apply `squeeze` in place, to named dimensions."""
    return _become(self, opwright.ops.aten.squeeze(self, dim))


def as_strided_(self: Operand, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Operand:
    """Apply `as_strided` in place."""
    return _become(self, opwright.ops.aten.as_strided(self, size, stride, storage_offset))


def detach_(self: Operand) -> Operand:
    """Return the tensor itself, out of the graph that made it."""
    if self._base is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    if self.edge is not None and type(self.edge) is not AccumulateGrad:
        note_detached(self)
    leave_graph(self)
    return self


def resize_as_(self: Operand, the_template: Operand, memory_format: Any) -> Operand:
    """Apply `resize_` with the shape of another tensor; `preserve_format` takes over that its channels come last."""
    if memory_format is opwright.preserve_format:
        memory_format = _suggested_format(the_template)
    return opwright.ops.aten.resize_(self, list(the_template.shape), memory_format=memory_format)


def _suggested_format(self: Operand) -> Any:
    if not suggests_channels_last(self.shape, self.stride()):
        return opwright.contiguous_format
    return opwright.channels_last if self.ndim == 4 else opwright.channels_last_3d
