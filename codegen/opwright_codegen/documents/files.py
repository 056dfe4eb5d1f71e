"""Files as texts with their path. What cannot be read raises SchemaError."""

from __future__ import annotations

import os
import stat

from opwright_codegen.errors import SchemaError
from opwright_codegen.source import Source

__all__ = ["MAX_BYTES", "PathLike", "read_source"]

MAX_BYTES = 64 * 1024 * 1024

PathLike = str | os.PathLike[str]


def read_source(path: PathLike) -> Source:
    """Return the text of a file. Raises SchemaError if it cannot be read, is too large, or is not UTF-8."""
    shown = os.fspath(path)
    try:
        # Opening a pipe would wait for someone to write into it.
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            what = "a directory" if stat.S_ISDIR(status.st_mode) else "no ordinary file"
            raise SchemaError("unreadable-file", f"cannot read {shown!r}: it is {what}")
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SchemaError("unreadable-file", f"cannot read {shown!r}: {error.strerror}") from None
    except ValueError as error:
        raise SchemaError("unreadable-file", f"cannot read {shown!r}: {error}") from None
    if len(data) > MAX_BYTES:
        raise SchemaError("large-file", f"{shown!r} is larger than {MAX_BYTES >> 20} MB", hint="split it")
    try:
        return Source(shown, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        source = Source(shown, data.decode("utf-8", "replace"))
        # What precedes the bad byte is good; a replaced BOM would be one character.
        at = len(data[: error.start].decode("utf-8", "replace"))
        span = source.whole().sub(at, at + 1)
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise SchemaError("encoding", message, span, "save the file as UTF-8") from None
