"""Memory as Triton takes it: an address and the name of a dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["TritonMemory"]


class TritonMemory:
    """A tensor or an array as Triton takes it. Its interpreter copies storages to the CPU and back, which these are
    already."""

    def __init__(self, owner: Any, dtype: str, address: int, shape: Sequence[int], strides: Sequence[int]) -> None:
        self.owner = owner  # which keeps the memory alive
        self.dtype = dtype
        self._address = address
        self._shape = tuple(shape)
        self._strides = tuple(strides)

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return self._address

    def untyped_storage(self) -> TritonMemory:
        """Return the storage, which is not told apart."""
        return self

    def cpu(self) -> TritonMemory:
        """Return the memory on the CPU."""
        return self

    def new_empty(self, *size: Any, device: str) -> TritonMemory:
        """Return what the interpreter sets to a storage, offset, size and strides."""
        return self

    def set_(self, *of: Any) -> None:
        """Take the storage that is this one."""

    def copy_(self, source: TritonMemory) -> None:
        """Take what is in this memory already."""

    def storage_offset(self) -> int:
        """Return where the first element lies in the storage, whose address is that of the element."""
        return 0

    def size(self) -> tuple[int, ...]:
        """Return the shape."""
        return self._shape

    def stride(self) -> tuple[int, ...]:
        """Return the strides in elements."""
        return self._strides
