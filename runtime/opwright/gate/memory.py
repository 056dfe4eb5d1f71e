"""Memory that tells: arrays between pages that nobody may touch, read-only pages, and new memory filled with poison."""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any, Final

import numpy as np

__all__ = ["CAN_GUARD", "flush", "misaligned", "poison", "protected"]

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


def misaligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a row-major copy that begins one byte off what its dtype asks for."""
    block = np.zeros(values.nbytes + 2 * max(values.itemsize, 1), np.uint8)
    start = -block.ctypes.data % max(values.itemsize, 1) + 1
    made: np.ndarray[Any, Any] = block[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


def poison(byte: int, sizes: list[int]) -> None:
    """Write a byte all over what memory of these sizes is next taken from: freed blocks, and new ones."""
    if CAN_GUARD:
        _libc.mallopt(_PERTURB, ~byte & 0xFF)  # 0 for 0xFF: nothing is filled
    for size in {*sizes}:
        kept = [np.empty(size, np.uint8) for _ in range(9)]
        for each in kept:
            each.fill(byte)
        del kept
