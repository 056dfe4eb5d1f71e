"""The question whether a run has anything to do, answered without loading what would do it.

After a run, one hash over all that it depended on and all that it wrote is kept in the output folder's `__pycache__`:
a cache, which no repository holds and which may be deleted at any time. The run is skipped while the hash is the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import opwright_codegen
from opwright_codegen import core_folder, data_folder
from opwright_codegen.declared.binding_folders import own_files
from opwright_codegen.errors import SchemaError
from opwright_codegen.output.write import MANIFEST, manifest_names, replace_file
from opwright_codegen.views.headers import header_files

__all__ = ["fresh_folders", "generator_files", "keep_stamp", "named_files", "named_modules"]

_STAMP = Path("__pycache__", "opwright.stamp")


def fresh_folders(base: Path, options: str, inputs: Sequence[Path]) -> list[Path] | None:
    """Return the output folders, if a run with these options and inputs would change nothing in them; else None."""
    try:
        stamp = _stamp(base)
        folders = [base / name for name in stamp["folders"]]
        return folders if stamp["hash"] == _hash(options, inputs, folders) else None
    except (OSError, ValueError, TypeError, KeyError, SchemaError):
        return None


def _stamp(base: Path) -> Any:
    """Return what the last run kept. Raises ValueError for what is no JSON, OSError for what is no file: reading it
    could wait for ever."""
    path = base / _STAMP
    if is_special(path):
        raise FileNotFoundError(path)
    try:
        return json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError(error) from None


def is_special(path: Path) -> bool:
    """Whether something is there that is no file, or is reached by a link."""
    return path.is_symlink() or path.parent.is_symlink() or (path.exists() and not path.is_file())


def named_modules(base: Path) -> list[str]:
    """Return the modules that the schemas of the last run name by path: which they are is known when these are read."""
    try:
        return [str(name) for name in _stamp(base)["named"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def named_files(base: Path) -> list[str]:
    """Return the CUDA sources that the schemas of the last run name, with what these include."""
    try:
        return [str(name) for name in _stamp(base)["files"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def keep_stamp(
    base: Path,
    options: str,
    inputs: Sequence[Path],
    folders: Sequence[Path],
    named: Iterable[str] = (),
    files: Iterable[str] = (),
) -> None:
    """Remember that the folders are what a run with these options and inputs gives, some of which were `named`."""
    names = [_relative(folder, base) for folder in folders]
    with suppress(OSError, SchemaError):  # then the next run is slower
        kept = {"hash": _hash(options, inputs, folders), "folders": names}
        text = json.dumps({**kept, "named": sorted(named), "files": sorted(files)})
        (base / _STAMP).parent.mkdir(exist_ok=True)
        if not is_special(base / _STAMP):
            replace_file(base / _STAMP, text)


def generator_files() -> list[Path]:
    """Return the sources of the generator itself: its modules, grammars, templates, our bindings, and headers of C."""
    found = [str(core_folder() / "__init__.py"), *map(str, header_files()), *own_files()]  # the first has the version
    for top in (Path(opwright_codegen.__file__).parent, data_folder("templates")):
        for folder, _, names in os.walk(top):  # in half the time of Path.rglob
            found += (os.path.join(folder, name) for name in names if name.endswith((".py", ".lark", ".json", ".j2")))
    return list(map(Path, sorted(set(found))))


def _relative(folder: Path, base: Path) -> str:
    return folder.relative_to(base).as_posix() if folder.is_relative_to(base) else os.path.realpath(folder)


def _hash(options: str, inputs: Sequence[Path], folders: Sequence[Path]) -> str:
    """Return the hash of all files together. Raises OSError when one of them is missing."""
    total = hashlib.sha256(f"{sys.version} {options}".encode("utf-8", "surrogateescape"))
    for path in (*inputs, *generator_files()):
        _add(total, path)
    for folder in folders:
        for name in (MANIFEST, *manifest_names(folder)):
            _add(total, folder / name)
    return total.hexdigest()


def _add(total: hashlib._Hash, path: Path) -> None:
    if not path.is_file():  # a pipe can be read once, if at all
        raise FileNotFoundError(path)
    total.update(str(path).encode("utf-8", "surrogateescape") + b"\0")
    total.update(hashlib.sha256(path.read_bytes()).digest())
