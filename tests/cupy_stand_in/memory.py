"""The memory of the stand-in: NumPy's, under CuPy's own arrays, so that what CuPy says of shapes and strides holds."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

Host = np.ndarray[Any, Any]


class HostMemory(cupy.cuda.UnownedMemory):  # type: ignore[misc]
    """Memory of a NumPy array, where CuPy expects a GPU's; `bytes` shows it to NumPy."""

    bytes: Host


class _Bytes:
    """A stretch of the memory of `owner`, for NumPy to look at."""

    def __init__(self, owner: Host, start: int, size: int) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (start, False), "shape": (size,), "typestr": "|u1", "version": 3}


def pointer_to(host: Host) -> Any:
    """CuPy's pointer to the first element of an array, within the memory that its elements lie in."""
    first = int(host.__array_interface__["data"][0])
    low, high = np.lib.array_utils.byte_bounds(host) if host.size else (first, first)
    if high == low:
        host = np.empty(64, np.uint8)
        first = low = int(host.__array_interface__["data"][0])
        high = low + host.nbytes
    memory = HostMemory(low, high - low, host, 0)
    memory.bytes = np.asarray(_Bytes(host, low, high - low))
    return cupy.cuda.MemoryPointer(memory, first - low)


def host_of(array: Any) -> Host:
    """What NumPy sees of a CuPy array: the same memory, shape and strides (but for the strides of empty ones)."""
    if not array.size:
        return np.empty(array.shape, array.dtype)
    memory = array.data.mem
    return np.ndarray(array.shape, array.dtype, memory.bytes, array.data.ptr - memory.ptr, array.strides)
