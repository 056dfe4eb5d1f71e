"""CUDA's compiler nvcc: where it is, and what it is told."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from opwright_codegen.building.compiler import BuildError, python_headers, words_of
from opwright_codegen.records import dataclass

__all__ = ["Nvcc", "find_nvcc"]

_INSTALL = "install NVIDIA's CUDA toolkit, or name its nvcc in NVCC"


@dataclass(frozen=True, slots=True)
class Nvcc:
    """The compiler of CUDA files, with the user's flags."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    system: tuple[str, ...]  # folders of headers that are not the project's
    tools: tuple[str, ...]  # files that tell one installation of it from another

    def compile_command(self, source: Path, target: Path, depfile: Path, include: Path) -> list[str]:
        """Return the command that compiles one file."""
        folders = (f"-I{include}", *(part for folder in self.system for part in ("-isystem", folder)))
        given = ("-MMD", "-MT", "object", "-MF", str(depfile), "-c", str(source), "-o", str(target))
        host = ("-Xcompiler", "-fPIC,-fvisibility=hidden")
        return [*self.command, "-std=c++17", "-O3", *host, *self.flags, *folders, *given]

    def link_command(self, objects: Sequence[Path], target: Path) -> list[str]:
        """Return the command that makes a library of objects."""
        return [*self.command, "-shared", *self.flags, *map(str, objects), "-o", str(target)]

    def undefined_command(self, objects: Sequence[Path]) -> list[str]:
        """Return a command that fails, and names all that the objects lack: what Python has, too."""
        return [*self.link_command(objects, Path(os.devnull)), "-Xlinker", "-z,defs"]


def find_nvcc() -> Nvcc | str:
    """Return the compiler of NVCC, else the installed one; a line that says why not, where there is none.

    Raises BuildError where NVCC names one that is not there.
    """
    named = words_of("NVCC")
    command = named or ["nvcc"]
    if shutil.which(command[0]) is None:
        if named:
            raise BuildError(f"NVCC names {command[0]!r}, which is not installed: {_INSTALL}")
        return f"there is no nvcc: {_INSTALL}"
    programs = tuple(filter(None, map(shutil.which, command[:2])))
    return Nvcc(tuple(command), tuple(words_of("NVCCFLAGS")), (python_headers(),), programs)
