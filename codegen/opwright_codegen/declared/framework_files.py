"""The modules that give a package's operators to other frameworks: which there are, and where they stand."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Final

__all__ = ["BINDINGS", "FRAMEWORKS", "framework_of", "located", "module_file"]

FRAMEWORKS: Final = ("torch", "dask", "jax")
BINDINGS: Final = (*FRAMEWORKS, "tvm_ffi")  # what `bindings` of [tool.opwright] may name: the last is a library alone


def module_file(package: str, framework: str) -> str:
    """Return the file that gives the operators of `package` to `framework`, as seen from the package's folder: it
    stands beside that, so that importing the package imports no framework."""
    return f"../{package}_{framework}.py"


def framework_of(name: str, folder: Path) -> str | None:
    """Return the framework that the file `name` of a package's folder is for; None for a file of the package itself."""
    package = Path(os.path.realpath(folder)).name
    return next((each for each in FRAMEWORKS if PurePosixPath(name) == PurePosixPath(module_file(package, each))), None)


def located(folder: Path, name: str) -> Path:
    """Return where the file `name` of a package's folder is. The folder need not be there yet, nor be no link."""
    return Path(os.path.realpath(folder)).parent / name.removeprefix("../") if name.startswith("../") else folder / name
