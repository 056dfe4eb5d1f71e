"""The build of `opwright-core` and `opwright`: their version, and the extensions in C.

`setup.py` of this folder builds the core, `opwright_core._fast`; that of the folder above it the library with ATen's
kernels, `opwright_kernels._native`. If an extension cannot be built, the distribution runs in Python and contains the
reason, which `opwright.dispatch.core()` shows.
"""

from __future__ import annotations

import ast
import atexit
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import setuptools
from setuptools import Extension
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError, ExecError

# As pyproject.toml says. Builds without isolation do not read it, and older versions refuse its licence.
if int(setuptools.__version__.partition(".")[0]) < 77:
    sys.exit(
        f"Opwright is built by setuptools 77 or later, and this is {setuptools.__version__}: pip install -U setuptools"
    )

from setuptools.command.bdist_wheel import bdist_wheel

__all__ = ["COMMANDS", "CORE", "RUNTIME", "VERSION", "Wheel", "extension", "options"]

RUNTIME: Final = Path(__file__).resolve().parent
CORE: Final = RUNTIME / "opwright_core"
# (Python's own flags ask for debug information, which would be three quarters of the file)
FLAGS = ["-std=c11", "-g0", "-fvisibility=hidden", "-Wall", "-Wextra", "-pthread"]
# A function that NumPy's or Python's headers no longer declare is an error here, not when the extension is loaded.
FLAGS += ["-Werror=implicit-function-declaration"]
# As `opwright build` compiles loops: nobody reads errno or the processor's flags behind them.
FLAGS += ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
# Where functions happen to lie costs or saves small calls a tenth: so they all begin a line of the cache.
FLAGS += ["-falign-functions=64", "-falign-loops=32"]
# The headers that generated C includes, too: functions of one element, the functions that the core gives to shims.
INCLUDE: Final = CORE / "include"
# The modules whose numbers C uses, too, by the prefix of their names in C.
NUMBERS: Final = {
    "CORE": CORE / "core.py",
    "KIND": CORE / "dispatch" / "compiled" / "signature_keys.py",
    "CALL": CORE / "locks" / "interrupts.py",
    "": CORE / "gradient_codes.py",
}
# The version of all distributions of the tree.
VERSION: Final = re.findall('^__version__ = "(.+?)"', (CORE / "__init__.py").read_text("utf-8"), re.MULTILINE)[0]

# What a package without its extension contains in its place: `opwright_core/core.py` reads it.
REASON: Final = "{}_missing.txt"


class CoreExtension(Extension):
    """An extension in C, with the modules whose tables of numbers it uses: they are written as `coefficients.h`."""

    tables: Sequence[Path] = ()


def extension(name: str, files: Sequence[Path], tables: Sequence[Path] = ()) -> CoreExtension:
    """Return an extension of C files. It is built again if a file, a header or a module with its numbers changes."""
    folders = {INCLUDE, CORE / "fast", *(file.parent for file in files)}
    headers = sorted({header for folder in folders for header in folder.rglob("*.h")})
    made = CoreExtension(
        name, _relative(files), depends=_relative([*headers, *tables, *NUMBERS.values()]), optional=True
    )
    made.tables = tables
    return made


def _relative(files: Sequence[Path]) -> list[str]:
    """Return paths as setuptools wants them: from the folder of `setup.py`, in order."""
    return sorted(os.path.relpath(file) for file in files)


def options() -> dict[str, dict[str, str]]:
    """Return the options of a build that leaves nothing in its folder, which may be read-only: `pip install FOLDER`."""
    if "sdist" in sys.argv:
        return {}
    elsewhere = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, elsewhere, ignore_errors=True)
    commands = {"egg_info": {"egg_base": elsewhere}, "build": {"build_base": elsewhere}}
    return commands if "bdist_wheel" in sys.argv else {"egg_info": commands["egg_info"]}


class BuildCore(build_ext):
    """The command that builds it, or writes down why not."""

    def run(self) -> None:
        """Build it, or put the reason where it would be: in place, that is the folder of the sources."""
        self.problem = ""
        super().run()
        for each in self.extensions:
            place = Path(self.get_ext_fullpath(each.name))
            reason = place.with_name(REASON.format(each.name.rpartition(".")[2]))
            reason.unlink(missing_ok=True)
            if self.problem:
                place.unlink(missing_ok=True)  # one of other sources
                reason.parent.mkdir(parents=True, exist_ok=True)
                reason.write_text(f"{self.problem}\n", "utf-8")

    def build_extension(self, ext: Extension) -> None:
        """Build it where that is possible, and none after one that could not be built."""
        if not self.problem and (problem := _unsupported() or self._problem_of_building(ext)):
            self.problem = problem
            print(f"{ext.name} is not built, Python runs in its place: {problem}", file=sys.stderr)

    def _problem_of_building(self, ext: Extension) -> str:
        """Build it; return why that could not be done, or nothing."""
        import numpy

        own = [CORE, INCLUDE, self._written_headers(ext.tables)]
        ext.include_dirs += [numpy.get_include(), *map(str, own)]
        if self.compiler.compiler_type == "unix":
            ext.extra_compile_args += FLAGS
            ext.libraries.append("m")  # else a compiler may take sines and exponentials of its own
            self.compiler.spawn = self.compiler.call = _run  # the name changes from setuptools to setuptools
        self.compiler.compile = self._compile_all
        try:
            super().build_extension(ext)
        except (BaseError, CCompilerError, OSError) as error:
            return str(error)
        return ""

    def _compile_all(self, sources: list[str], **options: Any) -> list[str]:
        """Compile as the compiler does, on all processors."""
        compile_one = type(self.compiler).compile
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(lambda source: compile_one(self.compiler, [source], **options), sources)
            return [each for objects in made for each in objects]

    def is_built(self) -> bool:
        """Whether they were built, now or before."""
        return all(Path(self.get_ext_fullpath(each.name)).exists() for each in self.extensions)

    def _written_headers(self, tables: Sequence[Path]) -> Path:
        """Write the headers of tables and numbers, and return their folder."""
        folder = Path(self.build_temp, "include")
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath("coefficients.h").write_text(
            "".join(line for path in tables for line in _tables(path)), "utf-8"
        )
        numbers = (line for prefix, path in NUMBERS.items() for line in _numbers(prefix, path))
        folder.joinpath("numbers.h").write_text("".join(["#pragma once\n", *numbers]), "utf-8")
        return folder


class Wheel(bdist_wheel):
    """The command that packs the wheel, which is for one Python and platform only where it has the extension."""

    def run(self) -> None:
        """Build, and tag the wheel by what it contains."""
        self.run_command("build")
        building = self.get_finalized_command("build_ext")
        assert isinstance(building, BuildCore)
        if not building.is_built():
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()


def _run(command: list[str], **options: Any) -> None:
    """Run a compiler, and keep what it says: its first error is the reason why there is no core."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **options)
    except OSError as error:
        raise ExecError(f"the C compiler {command[0]} cannot be run: {error.strerror}") from error
    print(done.stderr, end="", file=sys.stderr)
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        found = [line for line in lines if re.search(r"error|undefined|cannot", line)] or lines[-1:]
        raise ExecError("; ".join([f"{command[0]} ended with {done.returncode}", *found[:1]]))


def _tables(path: Path) -> Iterator[str]:
    """Yield the numbers and tuples of numbers that a module begins with, as constants in C: `GAMMA_ZETA` of gamma.py's
    `_ZETA`, `SPECIAL_ERF_TAIL_0` and `_1` of a pair."""
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign):
            try:
                value = eval(compile(ast.Expression(statement.value), path, "eval"), {"__builtins__": {}})
            except NameError:  # a type, or what is made of other constants
                continue
            target = statement.targets[0]
            several = isinstance(target, ast.Tuple)
            names = [ast.unparse(each) for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
            for name, each in zip(names, value if several else [value], strict=True):
                yield from _constants(f"{path.stem}{name}".upper(), each)


def _constants(name: str, value: Any) -> Iterator[str]:
    """Yield a number or a tuple as constants in C; nothing for anything else."""
    if isinstance(value, (int, float)):
        yield f"static const double {name} = {float(value)!r};\n"
    elif isinstance(value, tuple) and all(isinstance(each, (int, float)) for each in value):
        yield f"static const double {name}[] = {{{', '.join(repr(float(each)) for each in value)}}};\n"
    elif isinstance(value, tuple):
        for place, each in enumerate(value):
            yield from _constants(f"{name}_{place}", each)


def _numbers(prefix: str, path: Path) -> Iterator[str]:
    """Yield the numbers of a module for C: `KIND_TENSOR` of `_TENSOR, _ARRAY = range(2)`, `CORE_VERSION` of `VERSION:
    Final = 12`; without a prefix the names as they are."""
    for statement in ast.parse(path.read_text("utf-8")).body:
        match statement:
            case ast.Assign([ast.Tuple(names)], ast.Call(ast.Name("range"))):
                listed = ", ".join(f"{prefix}_{ast.unparse(name).lstrip('_')}".lstrip("_") for name in names)
                yield f"enum {{ {listed} }};\n"
            case ast.AnnAssign(ast.Name(name), ast.Name("Final"), ast.Constant(int(number))):
                yield f"#define {prefix}_{name.lstrip('_')} {number}\n"


def _unsupported() -> str:
    """Return why this interpreter cannot have it, or nothing."""
    if sys.implementation.name != "cpython":
        return f"it is written for CPython, and this is {sys.implementation.name}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python runs without the GIL, which it relies on"
    return ""


COMMANDS: Final = {"build_ext": BuildCore, "bdist_wheel": Wheel}
