"""The memory of objects that were compiled before: the command that made each, and all files that it was made of."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from opwright_codegen.output.write import replace_file

__all__ = ["Stamps", "State", "depended", "stamps_before", "stamps_of"]

_FILE: Final = "state.json"
_LINK: Final = "link"
_TICK: Final = 20_000_000  # nanoseconds: clocks of file systems are coarser than the time of day
Stamps = dict[str, list[int]]


class State:
    """The file `state.json` of a folder of objects. A file that is missing or broken says that nothing is known."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        self._known: dict[str, Any] = {}
        with suppress(OSError, ValueError, RecursionError):
            found = json.loads(self._path.read_bytes())
            if isinstance(found, dict):
                self._known = found

    def is_fresh(self, target: Path, command: Sequence[str]) -> bool:
        """Whether an object is what this command would make of the files as they are."""
        try:
            kept = self._known[target.name]
            same = kept["command"] == list(command) and target.is_file()
            return same and all(_stamp(name) == stamp for name, stamp in kept["files"].items())
        except (KeyError, TypeError, AttributeError):
            return False

    def files(self, target: Path) -> Iterable[str]:
        """Return the files that an object was made of, as far as that is known."""
        kept = self._known.get(target.name)
        files = kept.get("files") if isinstance(kept, dict) else None
        return tuple(files) if isinstance(files, dict) else ()

    def keep(self, target: Path, command: Sequence[str], files: Stamps) -> None:
        """Remember how an object was made; the library has yet to be linked of it."""
        self._known.pop(_LINK, None)
        self._known[target.name] = {"command": list(command), "files": files}
        self._write()

    def is_linked(self, command: Sequence[str]) -> bool:
        """Whether this command linked the library of the objects as they are."""
        return self._known.get(_LINK) == list(command)

    def keep_link(self, command: Sequence[str], objects: Iterable[Path]) -> None:
        """Remember how the library was linked, and forget objects that are none of it."""
        names = {target.name for target in objects}
        self._known = {name: kept for name, kept in self._known.items() if name in names}
        self._known[_LINK] = list(command)
        self._write()

    def _write(self) -> None:
        replace_file(self._path, json.dumps(self._known, indent=1))


def stamps_of(files: Iterable[str], before: Stamps, start: int) -> Stamps:
    """Return size and time of each file that a compiler has read, which started at `start`, in nanoseconds.

    A stamp of before the start is the one that counts. A file without one that may have changed meanwhile has an empty
    stamp, which nothing has: it is compiled again.
    """
    found = {}
    for name in files:
        now = _stamp(name)
        is_old = bool(now) and now[1] < start - _TICK
        found[name] = before.get(name) or (now if is_old else [])
    return found


def stamps_before(files: Iterable[str]) -> tuple[Stamps, int]:
    """Return size and time of each file, and the time of day, before a compiler starts."""
    return {name: _stamp(name) for name in files}, time.time_ns()


def _stamp(name: str) -> list[int]:
    """Return size and time of a file; nothing where it is gone."""
    with suppress(OSError, ValueError):
        found = os.stat(name)
        return [found.st_size, found.st_mtime_ns]
    return []


def depended(depfile: Path) -> list[str]:
    """Return the files that an object was made of, as the compiler wrote them for make."""
    text = depfile.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ")
    words = re.findall(r"(?:\\ |\\#|\S)+", text.partition(":")[2])
    return [word.replace("\\ ", " ").replace("\\#", "#").replace("$$", "$") for word in words]
