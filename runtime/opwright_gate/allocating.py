"""NumPy's allocator (NEP 49) with guarded pages: what a call allocates, its results above all, lies between pages that
nobody may touch.

Note [Freeing guarded arrays]
NumPy frees arrays while exceptions are on their way, which a callback into Python would lose. So the allocator's
`free` is `Py_AddPendingCall`, with what returns the memory as its context: Python calls that when it next runs code of
the main thread. Where too many calls are pending already, the pages stay.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import numpy as np

from opwright_gate.memory import CAN_GUARD, use_array_pool

__all__ = ["Overrun", "guarded_results"]

_PAGE: Final = mmap.PAGESIZE
_ALIGNMENT: Final = 16  # of what `malloc` returns: kernels may rely on it
_MARK: Final = 0xA5  # what fills the bytes between an array's end and the page behind it
_SET_HANDLER: Final = 304  # the index of `PyDataMem_SetHandler` in the table of NumPy's C API
_Allocate: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_AllocateMany: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)
_Release: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t)


class Overrun(Exception):
    """A write behind the end of an array that the call made, seen when the call has returned."""


class _Handler(ctypes.Structure):
    """NumPy's `PyDataMem_Handler`."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", _Allocate),
        ("calloc", _AllocateMany),
        ("realloc", _AllocateMany),
        ("free", ctypes.c_void_p),
    )


class _Allocator:
    """The functions of an allocator whose arrays end (or begin) at a guarded page. It lives as long as the process."""

    def __init__(self, *, at_end: bool) -> None:
        self.at_end = at_end
        self.blocks: dict[
            int, tuple[int, int, int]
        ] = {}  # by address: the first page, the bytes of all pages, the size
        self.overrun = 0  # the size of an array that was written behind its end
        self._libc: Any = ctypes.CDLL(None)
        self._libc.mmap.restype = ctypes.c_size_t
        pending = ctypes.cast(ctypes.pythonapi.Py_AddPendingCall, ctypes.c_void_p)
        self._release = _Release(self.release)
        functions = _Allocate(self.allocate), _AllocateMany(self.allocate_many), _AllocateMany(self.resize)
        context = ctypes.cast(self._release, ctypes.c_void_p)
        self._handler = _Handler(b"opwright_guarded", 1, context, *functions, pending)
        new_capsule = _python_function("PyCapsule_New", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self._name = b"mem_handler"  # (the capsule has its address)
        self.capsule = new_capsule(ctypes.addressof(self._handler), self._name, None)

    def allocate(self, _: int, size: int) -> int | None:
        """Return the address of new memory, which holds zeros; None where there is none."""
        pages = -(-size // _PAGE) or 1
        length = (pages + 2) * _PAGE
        kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        first: int = self._libc.mmap(None, ctypes.c_size_t(length), 0, kind, -1, ctypes.c_long(0))
        inner = ctypes.c_size_t(first + _PAGE), ctypes.c_size_t(pages * _PAGE)
        if first % _PAGE or self._libc.mprotect(*inner, mmap.PROT_READ | mmap.PROT_WRITE):
            return None
        room = -size % _ALIGNMENT if self.at_end else 0
        address = first + (pages + 1) * _PAGE - size - room if self.at_end else first + _PAGE
        ctypes.memset(address + size, _MARK, room)
        self.blocks[address] = first, length, size
        return address

    def allocate_many(self, _: int, count: int, size: int) -> int | None:
        """Return the address of new memory for so many elements, as `calloc` does."""
        return self.allocate(_, count * size)

    def resize(self, _: int, address: int, size: int) -> int | None:
        """Return the address of new memory that begins as another did, which is returned."""
        made = self.allocate(_, size)
        if made is not None:
            ctypes.memmove(made, address, min(size, self.blocks[address][2]))
            self.release(address)
        return made

    def release(self, address: int) -> int:
        """Return the memory at an address to the system."""
        self.look_at(address)
        first, length, _ = self.blocks.pop(address)
        self._libc.munmap(ctypes.c_size_t(first), ctypes.c_size_t(length))
        return 0

    def look_at(self, address: int) -> None:
        """Note whether the bytes behind an array's end are other ones now, once."""
        size = self.blocks[address][2]
        room = -size % _ALIGNMENT if self.at_end else 0
        if ctypes.string_at(address + size, room) != bytes([_MARK]) * room:
            self.overrun = size
            ctypes.memset(address + size, _MARK, room)


@cache
def _allocator(at_end: bool) -> _Allocator:
    return _Allocator(at_end=at_end)


@contextmanager
def guarded_results(*, at_end: bool) -> Iterator[None]:
    """Have each array that NumPy or the runtime makes here end (or begin) where a page does that nobody may touch.

    A read or write there is a signal. Arrays are aligned as `malloc` aligns them; a write to the bytes between the end
    of an array and that page raises Overrun in the end.
    """
    if not CAN_GUARD:
        yield
        return
    allocator, set_handler = _allocator(at_end), _handler_setter()
    allocator.overrun = 0
    use_array_pool(False)
    before = set_handler(allocator.capsule)
    try:
        yield
    finally:
        set_handler(before)
        use_array_pool(True)
    for address in list(allocator.blocks):
        allocator.look_at(address)
    if allocator.overrun:
        raise Overrun(f"it writes behind the end of an array of {allocator.overrun} bytes that it makes")


def _python_function(name: str, *types: Any) -> Any:
    return ctypes.PYFUNCTYPE(ctypes.py_object, *types)((name, ctypes.pythonapi))


@cache
def _handler_setter() -> Any:
    """Return NumPy's `PyDataMem_SetHandler`, which returns the handler that was there before."""
    read = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    table = ctypes.cast(read(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
