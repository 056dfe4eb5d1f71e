"""Targets of others: what may go wrong in them is an error with a place or a name, and never a traceback of ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Final

from opwright_codegen.declared.model import DeclaredSet, Target
from opwright_codegen.errors import SchemaError, shorten

__all__ = ["check_name", "checked_files", "failures", "guarded"]

_SHOWN: Final = 200  # characters of a message of others
_LONGEST: Final = 255  # bytes of a name that file systems take


def guarded(what: str, load: Callable[[], Target]) -> Target:
    """Return a target that loads and calls another one, `what`. It raises SchemaError alone."""

    def files(declared: DeclaredSet) -> Mapping[str, str]:
        with failures(what):
            return checked_files(load()(declared), what)

    return files


@contextmanager
def failures(what: str) -> Iterator[None]:
    """Make every exception of the code of others, `what`, a SchemaError. Without `what`, the code is ours."""
    try:
        yield
    except SchemaError:
        raise
    except (Exception, SystemExit) as error:
        if not what or os.environ.get("OPWRIGHT_TRACEBACK"):
            raise
        message = f"{what} failed: {type(error).__name__}: {str(error)[:_SHOWN]}"
        hint = "OPWRIGHT_TRACEBACK=1 shows where; please report it to the authors of the target"
        raise SchemaError("target-failed", message, hint=hint) from None


def checked_files(found: object, what: str) -> dict[str, str]:
    """Return the files of a target, `what`. Raises SchemaError for what are no files of an output folder."""
    if not isinstance(found, Mapping):
        raise _wrong(what, f"gave no files, but {_kind(found)}")
    for name, text in found.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise _wrong(what, f"gave {_kind(text)} for the file {shorten(repr(name))}")
        check_name(name, what)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _wrong(what, f"gave {name!r} half of a surrogate pair, which no file can hold") from None
    return dict(found)


def check_name(name: str, what: str) -> None:
    """Refuse names that lead out of the output folder, that have a second spelling, or that are kept for us."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        problem = "leads out of the output folder"
    elif {"\\", ":", "\0"} & set(name) or not name.isprintable() or not _is_utf8(name):
        problem = "has a character that names of files must not have"
    elif not path.parts or str(path) != name or name.endswith(" "):
        problem = f"is not written as {str(path)!r}" if path.parts else "names no file"
    elif "__pycache__" in path.parts or name == "manifest.json":
        problem = "is a name that the generator keeps for itself"
    elif any(len(part.encode()) > _LONGEST for part in path.parts):
        problem = "is too long"
    else:
        return
    hint = "give paths below the output folder, with slashes: docs/operators.md"
    raise SchemaError("target-file", f"{what} gave a file whose name {shorten(repr(name))} {problem}", hint=hint)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wrong(what: str, problem: str) -> SchemaError:
    hint = "a target gives texts by the paths of their files"
    return SchemaError("target-answer", f"{what} {problem}", hint=hint)


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"
