"""The storage of a tensor as elements of its dtype: what `Tensor.storage()` returned before storages had no dtype."""

from __future__ import annotations

from typing import Any

from opwright_core.arrays.devices import Device, backend_of
from opwright_core.arrays.dtypes import DType
from opwright_core.arrays.storage import Storage

__all__ = ["TypedStorage"]


class TypedStorage:
    """A storage whose elements have a dtype: `storage[2]`, `storage.size()`. Semantics: `torch.TypedStorage`."""

    __slots__ = ("_untyped", "dtype")

    def __init__(self, untyped: Storage, dtype: DType) -> None:
        self._untyped = untyped
        self.dtype = dtype

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, position: int) -> Any:
        return self._numbers()[position].item()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._untyped is other._untyped and self.dtype is other.dtype

    def __hash__(self) -> int:
        return hash((self._untyped, self.dtype))

    @property
    def device(self) -> Device:
        """Return the device of the memory."""
        return self._untyped.device

    def untyped(self) -> Storage:
        """Return the storage without the dtype, which all tensors over it share."""
        return self._untyped

    def size(self) -> int:
        """Return the number of elements."""
        return int(self._untyped.flat(self.dtype).shape[0])

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self._untyped.nbytes()

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address, as `untyped().data_ptr()`."""
        return self._untyped.data_ptr()

    def tolist(self) -> list[Any]:
        """Return the elements."""
        found: list[Any] = self._numbers().tolist()
        return found

    def _numbers(self) -> Any:
        flat = self._untyped.flat(self.dtype)
        return backend_of(flat).to_numpy(flat)
