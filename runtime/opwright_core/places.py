"""Places in schema files where operators are declared, and in programs where something is registered or called."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Final

__all__ = ["OURS", "Place", "caller", "frames_of_ours", "shown", "where_declared"]

OURS: Final = ("opwright.", "opwright_core.", "opwright_kernels.")  # what the names of our modules begin with


def shown(where: str) -> str:
    """Return a place for a message, also where it is not known."""
    return where or "an unknown place"


def where_declared(namespace: str, rows: Sequence[tuple[str | int, ...]]) -> dict[str, str]:
    """Return where operators are declared, `file:line`, by their full names. A row is one entry of a file: how many
    lines it has, and the operators that it declares; or the next file, and the lines before its first entry."""
    found = {}
    file, line = "", 1
    for first, *rest in rows:
        if isinstance(first, str):
            file, line = first, 1 + int(rest[0])
        else:
            where = f"{file}:{line}"
            for name in rest:
                found[f"{namespace}::{name}"] = where
            line += first
    return found


class Place(str):
    """`file:line`, with what tells a statement that runs again (a module that is reloaded, a cell that is run anew)
    from another statement: the module, the function, the file; and the code that ran, which is new each time."""

    scope: tuple[str, ...]
    code: weakref.ref[CodeType]

    def __new__(cls, frame: FrameType) -> Place:
        """Describe where a frame stands."""
        code = frame.f_code
        found = super().__new__(cls, f"{code.co_filename}:{frame.f_lineno}")
        module = frame.f_globals.get("__name__", "")
        is_cell = module == "__main__" and ("ipykernel" in code.co_filename or code.co_filename.startswith("<"))
        found.scope = module, code.co_qualname, "" if is_cell else code.co_filename
        found.code = weakref.ref(code)
        return found

    def is_rerun_of(self, earlier: str) -> bool:
        """Whether the module, cell or function that stood at `earlier` was executed anew to get here."""
        return isinstance(earlier, Place) and self.scope == earlier.scope and self.code() is not earlier.code()


def caller() -> Place:
    """Return the place outside this package from which it was called."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(OURS):
        frame = frame.f_back
    return Place(frame)


def frames_of_ours() -> int:
    """Return how many frames lie between the caller and the place outside this package that it was called from."""
    count, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(OURS):
        count, frame = count + 1, frame.f_back
    return count
