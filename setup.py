"""The build of the compiled core, `opwright._fast`: everything else of the distribution is said in pyproject.toml.

Where it cannot be built, one line says so, and what is installed runs in Python.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

SOURCES = Path("runtime", "fast")
FLAGS = ["-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra"]
# As `opwright build` compiles loops: nobody reads errno or the processor's flags behind them.
FLAGS += ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
# The functions of one element, which are those of the loops that the generator writes.
TEMPLATES = {name: Path("templates", f"native_{name}.j2") for name in ("elements.h", "mathematics.h")}

# The modules whose tables of numbers kernels in C go by, too.
TABLES = [
    Path("runtime", "opwright_kernels", f"{name}.py")
    for name in ("airy", "bessel", "bessel_jy", "gamma", "incomplete_gamma", "special")
]


class BuildCore(build_ext):
    """The command that builds it, or says in a line why not."""

    def build_extension(self, ext: Extension) -> None:
        """Build it where that is possible."""
        if problem := _unsupported():
            _left_out(problem)
            return
        import numpy

        ext.include_dirs += [numpy.get_include(), str(self._written_headers())]
        if self.compiler.compiler_type == "unix":
            ext.extra_compile_args += FLAGS
        try:
            super().build_extension(ext)
        except (BaseError, CCompilerError, OSError) as error:
            _left_out(str(error))

    def is_built(self) -> bool:
        """Whether it was built, now or before."""
        return all(Path(self.get_ext_fullpath(each.name)).exists() for each in self.extensions)

    def _written_headers(self) -> Path:
        """Write the headers that templates and tables hold, and return their folder."""
        folder = Path(self.build_temp, "include")
        folder.mkdir(parents=True, exist_ok=True)
        for name, template in TEMPLATES.items():
            text = template.read_text("utf-8").replace("{{ header }}", f"/* Written from {template.as_posix()}. */")
            folder.joinpath(name).write_text(text, "utf-8")
        folder.joinpath("coefficients.h").write_text(
            "".join(line for path in TABLES for line in _tables(path)), "utf-8"
        )
        return folder


class Wheel(bdist_wheel):
    """The command that packs the wheel, which is for one Python and platform only where it has the extension."""

    def run(self) -> None:
        """Build, and say what the wheel holds."""
        self.run_command("build")
        building = self.get_finalized_command("build_ext")
        assert isinstance(building, BuildCore)
        if not building.is_built():
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()


def _left_out(problem: str) -> None:
    reason = textwrap.shorten(problem, 160, placeholder=" …")
    print(f"opwright._fast is not built, Python runs in its place: {reason}", file=sys.stderr)


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


def _unsupported() -> str:
    """Return why this interpreter cannot have it, or nothing."""
    if sys.implementation.name != "cpython":
        return f"it is written for CPython, and this is {sys.implementation.name}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python runs without the GIL, which it relies on"
    return ""


setup(
    ext_modules=[
        Extension(
            "opwright._fast",
            sorted(str(path) for path in SOURCES.rglob("*.c")),
            depends=sorted(map(str, [*SOURCES.rglob("*.h"), *TEMPLATES.values(), *TABLES])),
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildCore, "bdist_wheel": Wheel},
)
