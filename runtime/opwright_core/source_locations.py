"""Places in schema files where operators are declared, and in programs where something is registered or called."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Final, TypeAlias

from opwright_core.names.late_imports import import_late

__all__ = [
    "OURS", "Place", "PlacesOf", "Where", "caller", "frames_of_ours", "place_text", "shown", "where_declared",
]  # fmt: skip

# What the names of our modules begin with.
OURS: Final = ("opwright.", "opwright_bindings.", "opwright_core.", "opwright_gate.", "opwright_kernels.")


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


Where: TypeAlias = "str | Callable[[], str]"  # a place, or the function that says it when it is asked for


def place_text(where: Where) -> str:
    """Return a place."""
    return where if isinstance(where, str) else where()


class PlacesOf:
    """The places of a generated package's operators, in its module `where`, which an error or a docstring loads."""

    __slots__ = ("_package",)

    def __init__(self, package: str) -> None:
        self._package = package

    def __getitem__(self, name: str) -> Callable[[], str]:
        return lambda: str(import_late(f"{self._package}.where").PLACES[name])


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
