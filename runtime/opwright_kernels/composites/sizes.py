"""Sizes of tensors as numbers, symbolic ones too: what graphs read at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opwright import Tensor

__all__ = ["sym_numel", "sym_size", "sym_storage_offset", "sym_stride"]


def sym_size(self: Tensor, dim: int) -> Any:
    """Return the size of a dimension."""
    return self.size(dim)


def sym_stride(self: Tensor, dim: int) -> Any:
    """Return the stride of a dimension."""
    return self.stride(dim)


def sym_numel(self: Tensor) -> Any:
    """Return the number of elements."""
    return self.numel()


def sym_storage_offset(self: Tensor) -> Any:
    """Return how many elements of the storage lie before the first."""
    return self.storage_offset()
