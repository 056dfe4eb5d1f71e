"""The folder of the C headers that come with the core: `#include <opwright/elements.h>`."""

from __future__ import annotations

from pathlib import Path

from opwright_codegen import core_folder

__all__ = ["header_files", "header_text", "include_dir"]


def include_dir() -> Path:
    """Return the folder that compilers look for `opwright/NAME.h` in, without importing the core."""
    return core_folder() / "include"


def header_files() -> list[Path]:
    """Return the headers, in the order of their names."""
    return sorted(include_dir().glob("opwright/*.h"))


def header_text(name: str) -> str:
    """Return the text of the header `opwright/NAME`."""
    return (include_dir() / "opwright" / name).read_text(encoding="utf-8")
