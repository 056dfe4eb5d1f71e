"""The build of what is in C: the compiled core, `opwright_core._fast`, and ATen's kernels, `opwright_kernels._native`.

Everything else of the distribution is said in pyproject.toml. Both are built or none: where that cannot be done, what
is installed runs in Python, and has the reason, which `opwright.dispatch.core()` says.
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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import setuptools
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError, ExecError

# As pyproject.toml says, which builds without isolation do not look at: older ones refuse its licence.
if int(setuptools.__version__.partition(".")[0]) < 77:
    sys.exit(
        f"Opwright is built by setuptools 77 or later, and this is {setuptools.__version__}: pip install -U setuptools"
    )

from setuptools.command.bdist_wheel import bdist_wheel

RUNTIME = Path("runtime")
CORE, NATIVE = RUNTIME / "opwright_core" / "fast", RUNTIME / "opwright_kernels" / "native"
# What an extension of kernels has of the core's files.
SHARED = CORE / "plain_arrays.c"
FLAGS = ["-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-pthread"]
# A function that NumPy's or Python's headers no longer declare is an error here, not when the extension is loaded.
FLAGS += ["-Werror=implicit-function-declaration"]
# As `opwright build` compiles loops: nobody reads errno or the processor's flags behind them.
FLAGS += ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
# Where functions happen to lie costs or saves small calls a tenth: so they all begin a line of the cache.
FLAGS += ["-falign-functions=64", "-falign-loops=32"]
# The headers that generated C includes, too: functions of one element, the functions that the core gives to shims.
INCLUDE = RUNTIME / "opwright_core" / "include"

# The modules whose tables of numbers kernels in C go by, too.
TABLES = [
    Path("runtime", "opwright_kernels", "special_functions", f"{name}.py")
    for name in ("airy", "bessel", "bessel_jy", "gamma", "incomplete_gamma", "special")
]

# The modules whose numbers the core goes by, too, by what their names in C begin with.
NUMBERS = {
    "CORE": RUNTIME / "opwright_core" / "core.py",
    "KIND": RUNTIME / "opwright_core" / "dispatch" / "compiled" / "signature_keys.py",
    "SAVE": RUNTIME / "opwright" / "autograd" / "fields.py",
    "STEP": RUNTIME / "opwright" / "autograd" / "formulas.py",
}

# What a package without the extensions has in the place of each: `opwright_core/core.py` reads it.
REASON = "{}_missing.txt"


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

        ext.include_dirs += [numpy.get_include(), str(CORE.parent), str(INCLUDE), str(self._written_headers())]
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

    def _written_headers(self) -> Path:
        """Write the headers of tables and numbers, and return their folder."""
        folder = Path(self.build_temp, "include")
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath("coefficients.h").write_text(
            "".join(line for path in TABLES for line in _tables(path)), "utf-8"
        )
        numbers = (line for prefix, path in NUMBERS.items() for line in _numbers(prefix, path))
        folder.joinpath("numbers.h").write_text("".join(["#pragma once\n", *numbers]), "utf-8")
        return folder


class Wheel(bdist_wheel):
    """The command that packs the wheel, which is for one Python and platform only where it has the extension."""

    def initialize_options(self) -> None:
        """Build elsewhere: `pip install FOLDER` leaves nothing in the folder."""
        super().initialize_options()
        elsewhere = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, elsewhere, ignore_errors=True)
        for command, option in (("build", "build_base"), ("egg_info", "egg_base")):
            self.distribution.get_option_dict(command).setdefault(option, ("setup.py", elsewhere))

    def run(self) -> None:
        """Build, and say what the wheel holds."""
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
    Final = 12`."""
    for statement in ast.parse(path.read_text("utf-8")).body:
        match statement:
            case ast.Assign([ast.Tuple(names)], ast.Call(ast.Name("range"))):
                listed = ", ".join(f"{prefix}_{ast.unparse(name).lstrip('_')}" for name in names)
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


def _extension(name: str, sources: list[Path], written: list[Path]) -> Extension:
    """Return an extension of some sources, which is built anew if one of the headers changes, or of what the written
    ones are made of."""
    folders = {INCLUDE / "opwright", *(source.parent for source in sources)}
    headers = [header for folder in folders for header in folder.glob("*.h")]
    depends = sorted(map(str, [*headers, *written]))
    return Extension(name, list(map(str, sources)), depends=depends, optional=True)


# What a former build may have left here would offer our hooks to setuptools, which then wants the generator installed.
shutil.rmtree("opwright.egg-info", ignore_errors=True)

setup(
    ext_modules=[
        _extension("opwright_core._fast", sorted(CORE.glob("*.c")), [*NUMBERS.values()]),
        _extension(
            "opwright_kernels._native",
            [*sorted(NATIVE.glob("*.c")), SHARED],
            [*TABLES, NUMBERS["CORE"]],
        ),
    ],
    cmdclass={"build_ext": BuildCore, "bdist_wheel": Wheel},
)
