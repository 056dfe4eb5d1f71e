"""Memory that tells: arrays between pages that nobody may touch, read-only pages, and new memory filled with poison."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from typing import Any, Final

import numpy as np

from opwright_core.core import fast

__all__ = ["CAN_GUARD", "allocated", "flush", "misaligned", "poison", "protected", "use_array_pool", "use_threads"]

CAN_GUARD: Final = sys.platform.startswith("linux")
_PAGE: Final = mmap.PAGESIZE
_PERTURB: Final = -6  # of mallopt: what new and freed memory is filled with
_READ, _WRITE = 1, 2
_libc: Any = ctypes.CDLL(None) if CAN_GUARD else None


def flush(values: np.ndarray[Any, Any], *, at_end: bool) -> np.ndarray[Any, Any]:
    """Return a row-major copy that ends (or begins) where a page does that nobody may read or write.

    Before and behind lies such a page in any case: a read past the end is a signal. The copy is aligned to its dtype.
    """
    pages = -(-values.nbytes // _PAGE) or 1
    block = mmap.mmap(-1, (pages + 2) * _PAGE)
    start = pages * _PAGE + _PAGE - values.nbytes if at_end else _PAGE
    made: np.ndarray[Any, Any] = (
        np.frombuffer(block, np.uint8, values.nbytes, start).view(values.dtype).reshape(values.shape)
    )
    made[...] = values
    address = made.ctypes.data - start
    for page in (0, pages + 1):
        _protect(address + page * _PAGE, _PAGE, 0)
    return made


def protected(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a row-major copy on pages that can only be read: a write is a signal, by whatever way."""
    made = flush(values, at_end=False)
    _protect(made.ctypes.data, -(-values.nbytes // _PAGE) * _PAGE or _PAGE, _READ)
    made.flags.writeable = False
    return made


def _protect(address: int, length: int, access: int) -> None:
    if CAN_GUARD and _libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(length), access):
        raise OSError("mprotect failed")


class _Allocated(ctypes.Structure):
    """The counts of `mallinfo2`: that of bytes in use is the eighth."""

    _fields_ = tuple((f"field{number}", ctypes.c_size_t) for number in range(10))


def allocated() -> int:
    """Return how many bytes `malloc` has given out in this process, 0 where the C library does not say."""
    count = getattr(_libc, "mallinfo2", None)
    if count is None:
        return 0
    count.restype = _Allocated
    return int(count().field7)


def use_threads(count: int) -> None:
    """Have OpenMP use several threads from now on, where a kernel loaded it."""
    set_count = getattr(_libc, "omp_set_num_threads", None)
    try:
        library = ctypes.CDLL("libgomp.so.1", mode=os.RTLD_NOLOAD) if set_count is None and CAN_GUARD else None
    except OSError:
        library = None
    function = set_count or getattr(library, "omp_set_num_threads", None)
    if function is not None:
        function(ctypes.c_int(count))


def use_array_pool(flag: bool) -> None:
    """Have the compiled core pool the arrays of tensors that were freed, or have NumPy allocate each result."""
    if fast is not None:
        fast.use_array_pool(flag)


def misaligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a row-major copy that begins one byte off what its dtype asks for."""
    block = np.zeros(values.nbytes + 2 * max(values.itemsize, 1), np.uint8)
    start = -block.ctypes.data % max(values.itemsize, 1) + 1
    made: np.ndarray[Any, Any] = block[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


_MOST_POISONED: Final = 1 << 24  # bytes: larger blocks are mapped anew each time


def poison(byte: int, sizes: list[int]) -> None:
    """Write a byte all over what memory of these sizes is next taken from: freed blocks, and new ones. 0xFF ends it."""
    use_array_pool(byte == 0xFF)
    if CAN_GUARD:
        _libc.mallopt(_PERTURB, ~byte & 0xFF)  # 0 for 0xFF: nothing is filled
    for size in {each for each in sizes if each <= _MOST_POISONED}:
        kept = [np.empty(size, np.uint8) for _ in range(9)]
        for each in kept:
            each.fill(byte)
        del kept
