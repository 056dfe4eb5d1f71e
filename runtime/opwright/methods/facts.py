"""The facts of a tensor, its storage and its versions that no call of an operator asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opwright.names.late_bound import late_bound
from opwright_core.arrays.devices import backend_of
from opwright_core.arrays.dtypes import COMPLEX, FLOATING
from opwright_core.arrays.formats import Layout
from opwright_core.arrays.storage import Storage, storage_of
from opwright_core.keys import FRONT_MODE, META, TRACKED
from opwright_core.tensors.tensor import Tensor, install_methods

__all__ = ["Described"]


@install_methods
class Described:
    """The properties of Tensor, installed on it."""

    __slots__ = ()

    @property
    def nbytes(self: Any) -> Any:
        """Return the bytes of all elements."""
        return self.numel() * self.itemsize

    @property
    def layout(self: Any) -> Layout:
        """Return `Layout.strided`: there is no other."""
        return Layout.strided

    @property
    def is_cpu(self: Any) -> bool:
        """Whether the data is in NumPy's memory."""
        return bool(self.device.type == "cpu")

    @property
    def is_cuda(self: Any) -> bool:
        """Whether the data is on a CUDA device."""
        return bool(self.device.type == "cuda")

    @property
    def is_meta(self: Any) -> bool:
        """Whether there is metadata alone."""
        return bool(self.device.type == "meta")

    def storage_offset(self: Any) -> int:
        """Return how many elements of the storage lie before the first one."""
        extra, array = self.extra, self.array
        if self.keys & FRONT_MODE:  # a tensor of a level, whose value says where it lies
            return array.offset // array.itemsize  # type: ignore[no-any-return]
        is_own = extra is None or extra.storage is None
        if is_own and all(stride >= 0 for stride in backend_of(array).strides(array)):
            return 0
        return storage_of(self).offset_of(array)

    def data_ptr(self: Any) -> int:
        """Return the address of the first element; 0 if there is none, and on the meta device."""
        if self.keys & META:
            if not self.is_meta:
                raise late_bound.fakes().no_data(self.array, ".data_ptr()")
            return 0
        return backend_of(self.array).data_ptr(self.array) if self.numel() else 0

    def is_floating_point(self: Any) -> bool:
        """Whether the dtype is a floating-point one."""
        return self.dtype in FLOATING

    def is_complex(self: Any) -> bool:
        """Whether the dtype is a complex one."""
        return self.dtype in COMPLEX

    def is_signed(self: Any) -> bool:
        """Whether the dtype has negative numbers."""
        return bool(self.dtype.kind != "u" and self.dtype.kind != "b")

    def is_nonzero(self: Any) -> bool:
        """Whether the only element is not zero. Raises RuntimeError if there is not exactly one."""
        return bool(self)

    def get_device(self: Any) -> int:
        """Return the device's index; -1 where it has none."""
        index = self.device.index
        return -1 if index is None else index

    def is_same_size(self: Any, other: Tensor) -> bool:
        """Whether the shapes are equal."""
        return bool(self.shape == other.shape)

    @property
    def _base(self: Any) -> Tensor | None:
        return None if self.extra is None else self.extra.base

    @property
    def _version(self: Any) -> int:
        if not self.keys & TRACKED:
            raise RuntimeError("Inference tensors do not track version counter.")
        return storage_of(self).version

    def untyped_storage(self: Any) -> Storage:
        """Return the storage shared with all views."""
        return storage_of(self)

    def is_set_to(self: Any, other: Tensor) -> bool:
        """Whether both look at the same memory in the same way."""
        same = self.shape == other.shape and self.stride() == other.stride()
        return bool(same and self.data_ptr() == other.data_ptr())

    def __iter__(self: Any) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return (self[position] for position in range(len(self)))

    def __contains__(self: Any, element: object) -> bool:
        if isinstance(element, (Tensor, bool, int, float, complex)):
            found: Any = self == element
            return bool(np.any(found.numpy(force=True)))
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
