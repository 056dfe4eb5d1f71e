"""Libraries whose files are cut short: the system maps those and stops the process when it reads beyond their end."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

__all__ = ["check_whole"]

_HEADER: Final = struct.Struct("<4sBB26xQ14xHH6x")  # ELF: magic, class, order, where segments are told, size, number
_SEGMENT: Final = struct.Struct("<II3Q8xQ8x")  # kind, flags, offset, two addresses, size in the file
_64_BITS, _LITTLE_ENDIAN, _LOADED = 2, 1, 1


def check_whole(path: Path) -> None:
    """Raise ImportError for a library of 64-bit Linux whose file ends before its segments do; others are let pass."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return
        magic, bits, order, start, length, count = _HEADER.unpack(header)
        if (magic, bits, order) != (b"\x7fELF", _64_BITS, _LITTLE_ENDIAN) or length < _SEGMENT.size:
            return
        file.seek(start)
        table = file.read(length * count)
    wanted = start + length * count
    for at in range(0, len(table) - _SEGMENT.size + 1, length):
        kind, _, offset, _, _, held = _SEGMENT.unpack_from(table, at)
        if kind == _LOADED:
            wanted = max(wanted, offset + held)
    if size < wanted:
        raise ImportError(f"{path} is cut short: it has {size} of {wanted} bytes")
