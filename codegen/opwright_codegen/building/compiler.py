"""The C compiler: which it is, what it is told, and what it says of files that it refuses."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from opwright_codegen.errors import undoubled
from opwright_codegen.records import dataclass, replace
from opwright_codegen.views.headers import include_dir

__all__ = [
    "JAX_HEADER",
    "SUFFIX",
    "BuildError",
    "Compiler",
    "ToolsMissing",
    "find_compiler",
    "jax_headers",
    "python_headers",
    "run_compiler",
    "with_headers",
    "words_of",
]

JAX_HEADER: Final = "xla/ffi/api/c_api.h"
# Of libraries: those of the limited API serve every Python; one without the GIL ("t") has its own.
SUFFIX: Final = EXTENSION_SUFFIXES[0] if "t" in sys.abiflags else ".abi3.so"

_NAMES = ("cc", "gcc", "clang")
_INSTALL = "install gcc or clang (Debian: apt install gcc; macOS: xcode-select --install), or name one in CC"

# Nobody reads errno or the processor's floating-point flags behind a kernel. Else gcc makes vector instructions of no
# loop that calls sqrt or chooses between two products. Values stay as they are.
_LANGUAGE = ("-std=c11", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math")


class BuildError(Exception):
    """An error that keeps a library from being built. `output` is what is to be shown above it, as it is."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(undoubled(message))
        self.output = output


class ToolsMissing(BuildError):
    """An error that no project can mend: the machine has no compiler, or no headers of Python or NumPy."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler with the user's flags. `tools` are files that tell one installation of it from another."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    system: tuple[str, ...]  # folders of headers that are not the project's
    tools: tuple[str, ...]

    def compile_command(self, source: Path, target: Path, depfile: Path, include: Path) -> list[str]:
        """Return the command that compiles one file."""
        # -O3 comes last: many environments set CFLAGS to -O2, at which gcc vectorises few loops. Never -march=native:
        # what is built runs on machines that others have.
        own = (f"-I{include}", f"-I{include_dir()}")
        folders = (*own, *(part for folder in self.system for part in ("-isystem", folder)))
        given = ("-MMD", "-MT", "object", "-MF", str(depfile), "-c", str(source), "-o", str(target))
        return [*self.command, *_LANGUAGE, *self.flags, "-O3", *folders, *given]

    def link_command(self, objects: Sequence[Path], target: Path) -> list[str]:
        """Return the command that makes a library of objects."""
        late = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
        return [*self.command, "-shared", *map(str, objects), *late, *self.link_flags, "-lm", "-o", str(target)]

    def undefined_command(self, objects: Sequence[Path]) -> list[str]:
        """Return a command that fails, and names all that the objects lack: what Python has, too."""
        strict = () if sys.platform == "darwin" else ("-Wl,-z,defs", "-Wl,--no-demangle")
        return [*self.command, "-shared", *map(str, objects), *strict, *self.link_flags, "-lm", "-o", os.devnull]


def run_compiler(command: Sequence[str]) -> tuple[bool, str]:
    """Run a command; return whether it succeeds, and what it says, with paths as the user gives them."""
    words = {**os.environ, "LC_ALL": "C"}  # what it says is read
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=words)
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error.strerror or error}") from None
    return done.returncode == 0, (done.stdout + done.stderr).replace(f"{Path.cwd()}{os.sep}", "")


def find_compiler() -> Compiler:
    """Return the compiler of CC, else the system's. Raises ToolsMissing; BuildError for wrong variables."""
    if os.name == "nt":
        raise ToolsMissing("C kernels are built on Linux and macOS")
    named = words_of("CC")
    command = named or [next((name for name in _NAMES if shutil.which(name)), "")]
    if not command[0] or shutil.which(command[0]) is None:
        found = f"CC names {command[0]!r}, which is not installed" if named else "there is no C compiler"
        raise ToolsMissing(f"{found}: {_INSTALL}")
    system = (python_headers(), _numpy_headers())
    programs = filter(None, map(shutil.which, command[:2]))  # ccache gcc
    told = (*programs, f"{system[0]}/patchlevel.h", f"{system[1]}/numpy/_numpyconfig.h")
    return Compiler(tuple(command), tuple(words_of("CFLAGS")), tuple(words_of("LDFLAGS")), system, told)


def with_headers(compiler: Compiler, folder: str, header: str) -> Compiler:
    """Return the compiler with a folder of headers more; `header` tells one version of them from another."""
    return replace(compiler, system=(*compiler.system, folder), tools=(*compiler.tools, f"{folder}/{header}"))


def jax_headers() -> str:
    """Return the folder of the headers that come with JAX, without importing it; '' where it is not installed."""
    spec = find_spec("jaxlib")
    places = spec.submodule_search_locations or () if spec else ()
    found = (Path(place, "include") for place in places)
    return next((str(folder) for folder in found if (folder / JAX_HEADER).is_file()), "")


def words_of(name: str) -> list[str]:
    """Return the words of an environment variable, as a shell reads them. Raises BuildError."""
    try:
        return shlex.split(os.environ.get(name, ""))
    except ValueError as error:
        raise BuildError(f"the environment variable {name} cannot be read: {str(error).lower()}") from None


def python_headers() -> str:
    """Return the folder of Python's headers. Raises ToolsMissing where they are not installed."""
    folder = sysconfig.get_path("include")
    if not Path(folder, "Python.h").is_file():
        raise ToolsMissing(f"{folder} has no Python.h: install Python's headers (Debian: apt install python3-dev)")
    return folder


def _numpy_headers() -> str:
    """Return the folder of NumPy's headers, without importing it."""
    spec = find_spec("numpy")
    for place in spec.submodule_search_locations or () if spec else ():
        folder = Path(place, "_core", "include")
        if (folder / "numpy" / "arrayobject.h").is_file():
            return str(folder)
    raise ToolsMissing("NumPy 2 is not installed, whose headers the C kernels need: pip install 'numpy>=2'")
