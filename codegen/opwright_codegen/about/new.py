"""The command `new`: the folder of a project that works at once."""

from __future__ import annotations

import keyword
import os
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TextIO

from opwright_codegen.about.origin import origin
from opwright_codegen.errors import UsageError
from opwright_codegen.output.editor_schema import EDITOR_SCHEMA, editor_schema
from opwright_codegen.output.templates import environment

__all__ = ["new"]

# The files of a project, by their templates in `templates/new/`. NAME stands for its name.
_FILES: Final = {
    "pyproject.toml": "pyproject.toml",
    "Makefile": "Makefile",
    "local.mk": "local.mk",
    "README.md": "README.md",
    ".gitignore": "gitignore",
    ".github/workflows/test.yml": "workflow.yml",
    "schemas/ops.yaml": "ops.yaml",
    "schemas/derivatives.yaml": "derivatives.yaml",
    "src/NAME/__init__.py": "package.py",
    "src/NAME/kernels.py": "kernels.py",
    "csrc/smooth.c": "smooth.c",
    "csrc/clip_rows.cu": "clip_rows.cu",
    "tests/test_NAME.py": "tests.py",
}
_EMPTY: Final = "src/NAME/py.typed"
_WORD: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST: Final = 60
_TAKEN: Final = ("aten", "prim", "prims", "opwright", "setup", "conftest", "tests")


def new(name: str, out: TextIO) -> int:
    """Write the project into a folder of its name, all of it or nothing. Raises UsageError for a wrong name."""
    _check_name(name)
    folder = Path(name)
    if os.path.lexists(folder):
        raise UsageError(f"{name} exists already, and nothing in it is replaced: choose another name, or move it away")
    source = origin()
    texts = _texts(name, source)
    _write(folder, texts)
    print(f"{name}: {len(texts)} files, a project of three operators: README.md says which file holds what", file=out)
    if not source:
        print("nobody knows where this Opwright was installed from: make OPWRIGHT=/path/to/opwright", file=out)
    print(f"next: cd {name} && make test", file=out)
    return 0


def _check_name(name: str) -> None:
    """Raise UsageError for what cannot be the name of a package, of a namespace, and of functions in C."""
    said = f"{name!r} cannot be the name of a project"
    if not _WORD.fullmatch(name):
        words = "_".join(re.findall(r"[a-z0-9]+", name.lower())).lstrip("0123456789_")
        hint = f": {words!r} can" if _WORD.fullmatch(words) else ""
        raise UsageError(f"{said}: it has to be words of small letters and digits, joined by one underscore{hint}")
    if len(name) > _LONGEST:
        raise UsageError(f"{said}: it has {len(name)} letters, and {_LONGEST} is the most")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise UsageError(f"{said}: it is a word of Python")
    if name in sys.stdlib_module_names:
        raise UsageError(f"{said}: Python has a module of that name")
    if name in _TAKEN:
        raise UsageError(f"{said}: it means something else already")
    if _is_installed(name):
        raise UsageError(f"{said}: a package of that name is installed here, and would hide it")


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
        return True
    except PackageNotFoundError:
        found = find_spec(name)
        return found is not None and found.origin is not None  # a folder without code hides nothing


def _texts(name: str, source: str) -> dict[str, str]:
    """Return the files of a project, path to text. `source` is what pip installs Opwright from."""
    in_make = source.replace("$", "$$").replace("#", "\\#")
    is_here = os.path.isabs(source)  # a folder or a file of this machine, which nobody else has
    values: Mapping[str, str] = {
        "name": name,
        "origin_in_make": "" if is_here else in_make,
        "place_in_make": in_make,
    }
    texts = {
        path.replace("NAME", name): environment().get_template(f"new/{template}.j2").render(values)
        for path, template in _FILES.items()
        if is_here or template != "local.mk"
    }
    return {**texts, f"schemas/{EDITOR_SCHEMA}": editor_schema(), _EMPTY.replace("NAME", name): ""}


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write all files beside the folder first, which then appears at once. Raises OSError."""
    made = folder.with_name(f".opwright-{os.getpid()}-{folder.name}")
    made.mkdir()
    try:
        for path, text in texts.items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(text, encoding="utf-8")
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
