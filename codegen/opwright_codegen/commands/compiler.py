"""The C compiler: which it is, what it is told, and what it says of files that it refuses."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

__all__ = ["BuildError", "Compiler", "find_compiler"]

_NAMES = ("cc", "gcc", "clang")
_INSTALL = "install gcc or clang (Debian: apt install gcc; macOS: xcode-select --install), or name one in CC"

# Nobody reads errno or the processor's floating-point flags behind a kernel. Without this, gcc makes vector instructions
# of no loop that calls sqrt or chooses between two products; values stay as they are.
_LANGUAGE = ("-std=c11", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math")


class BuildError(Exception):
    """An error that keeps a library from being built. `output` is what the compiler said, to be shown as it is."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler with the user's flags."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    system: tuple[str, ...]  # folders of headers that are not the project's

    def compile_command(self, source: Path, target: Path, depfile: Path, include: Path) -> list[str]:
        """Return the command that compiles one file."""
        # -O3 comes last: many environments set CFLAGS to -O2, at which gcc vectorises few loops. Never -march=native:
        # what is built runs on machines that others have.
        folders = (f"-I{include}", *(part for folder in self.system for part in ("-isystem", folder)))
        given = ("-MMD", "-MF", str(depfile), "-c", str(source), "-o", str(target))
        return [*self.command, *_LANGUAGE, *self.flags, "-O3", *folders, *given]

    def link_command(self, objects: Sequence[Path], target: Path) -> list[str]:
        """Return the command that makes a library of objects."""
        late = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
        return [*self.command, "-shared", *map(str, objects), *late, *self.link_flags, "-lm", "-o", str(target)]

    def run(self, command: Sequence[str], what: str) -> str:
        """Run a command; return what it said. Raises BuildError where it fails."""
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise BuildError(f"{self.command[0]} cannot be run: {error.strerror or error}") from None
        said = done.stdout + done.stderr
        if done.returncode:
            raise BuildError(f"{what} failed", said)
        return said


def find_compiler() -> Compiler:
    """Return the compiler of CC, else the system's. Raises BuildError where there is none."""
    named = shlex.split(os.environ.get("CC", ""))
    command = named or [next((name for name in _NAMES if shutil.which(name)), "")]
    if not command[0] or shutil.which(command[0]) is None:
        found = f"CC names {command[0]!r}, which is not installed" if named else "there is no C compiler"
        raise BuildError(f"{found}: {_INSTALL}")
    flags, link_flags = (tuple(shlex.split(os.environ.get(name, ""))) for name in ("CFLAGS", "LDFLAGS"))
    return Compiler(tuple(command), flags, link_flags, (_python_headers(), _numpy_headers()))


def _python_headers() -> str:
    folder = sysconfig.get_path("include")
    if not Path(folder, "Python.h").is_file():
        raise BuildError(f"{folder} has no Python.h: install Python's headers (Debian: apt install python3-dev)")
    return folder


def _numpy_headers() -> str:
    """Return the folder of NumPy's headers, without importing it."""
    spec = find_spec("numpy")
    for place in spec.submodule_search_locations or () if spec else ():
        folder = Path(place, "_core", "include")
        if (folder / "numpy" / "arrayobject.h").is_file():
            return str(folder)
    raise BuildError("NumPy 2 is not installed, whose headers the C kernels need: pip install 'numpy>=2'")
