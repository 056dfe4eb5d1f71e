"""The command `doctor`: what Opwright finds on this machine, and what it goes without, with the reason."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final, NamedTuple, TextIO

from opwright_codegen import VERSION
from opwright_codegen.about.origin import origin
from opwright_codegen.building.compiler import BuildError, find_compiler, jax_headers
from opwright_codegen.building.nvcc import find_nvcc
from opwright_codegen.commands.runtime_process import RuntimeProcessError, run_in_runtime
from opwright_codegen.findings.table import write_table

__all__ = ["show_doctor"]

_CORE: Final = """
import json, warnings
warnings.simplefilter("ignore")
from opwright_core.core import core
print(json.dumps(core()))
"""
_CUPY: Final = """
import cupy
print(cupy.__version__, cupy.cuda.runtime.getDeviceCount())
"""
# What operators are given to, and what kernels are written for; by the name of the distribution.
_FRAMEWORKS: Final = (
    ("PyTorch", "torch"), ("JAX", "jax"), ("Dask", "dask"), ("xarray", "xarray"), ("pandas", "pandas"),
    ("Numba", "numba"), ("Triton", "triton"), ("tvm-ffi", "apache-tvm-ffi"),
)  # fmt: skip
_TOOLS: Final = (
    ("library", "opwright", "opwright gate, test, docs, table"),
    ("sympy", "sympy", "shapes with symbolic sizes"),
    ("rich", "rich", "reports as text and colours"),
    ("pytest", "pytest", "opwright test"),
    ("watchfiles", "watchfiles", "opwright generate --watch"),
)
_SECONDS: Final = 30.0


class _Item(NamedTuple):
    """Something that is there, or is not (`needed`: without it nothing runs)."""

    name: str
    found: bool
    says: str
    needed: bool = False


def show_doctor(format: str, out: TextIO) -> int:
    """Print what is found; the status: 1 where something is missing without which nothing runs."""
    items = list(_items())
    is_well = all(item.found or not item.needed for item in items)
    if format == "json":
        json.dump({"format": 1, "well": is_well, "found": [item._asdict() for item in items]}, out, indent=1)
        out.write("\n")
    else:
        marks = ((item.name, "yes" if item.found else "MISSING" if item.needed else "no", item.says) for item in items)
        write_table(("", "found", ""), list(marks), out)
    return 0 if is_well else 1


def _items() -> Iterator[_Item]:
    yield _Item("Opwright", True, f"{VERSION}, from {origin() or 'a place that nobody knows'}")
    lock = "" if getattr(sys, "_is_gil_enabled", bool)() or sys.version_info < (3, 13) else ", without the GIL"
    yield _Item("Python", True, f"{platform.python_version()}{lock}, {sys.executable}")
    yield _Item("machine", True, f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    for name in ("numpy", "ml_dtypes", "lark", "jinja2", "pyyaml"):
        yield _package(name, name, needed=True)
    yield _core()
    yield _compiler("C compiler", lambda: find_compiler().command)
    yield _compiler("nvcc", _nvcc)
    yield _cupy()
    for name, distribution in _FRAMEWORKS:
        yield _package(name, distribution)
    if find_spec("jaxlib") is not None and not jax_headers():
        yield _Item("headers of JAX", False, "kernels in C are not built for JAX: jaxlib has no headers")
    for name, distribution, use in _TOOLS:
        item = _package(name, distribution)
        yield item if item.found else item._replace(says=f"needed for {use}: pip install {distribution}")


def _package(name: str, distribution: str, *, needed: bool = False) -> _Item:
    try:
        return _Item(name, True, version(distribution), needed)
    except PackageNotFoundError:
        return _Item(name, False, "not installed", needed)


def _core() -> _Item:
    """Return whether the compiled core runs, and why not."""
    try:
        name, reason = json.loads(run_in_runtime(_CORE, [], plugins=False))
    except (RuntimeProcessError, ValueError) as error:
        return _Item("runtime", False, f"it cannot be imported: {error}", needed=True)
    return _Item("compiled core", name == "fast", reason if name != "python" else f"{reason}. Python runs, slower")


def _compiler(name: str, find: Callable[[], tuple[str, ...] | str]) -> _Item:
    try:
        command = find()
    except BuildError as error:
        return _Item(name, False, str(error))
    if isinstance(command, str):
        return _Item(name, False, command)
    try:
        run = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
        lines = [line for line in run.stdout.splitlines() if line.strip()]
    except (OSError, subprocess.TimeoutExpired) as error:
        return _Item(name, False, f"{command[0]} cannot be run: {error}")
    said = next((line for line in lines if "release" in line), lines[0] if lines else "it does not say its version")
    return _Item(name, True, f"{said}, {shutil.which(command[0])}")


def _nvcc() -> tuple[str, ...] | str:
    found = find_nvcc()
    return found if isinstance(found, str) else tuple(found.command)


def _cupy() -> _Item:
    if find_spec("cupy") is None:
        return _Item("CuPy", False, "not installed: CUDA tensors need it (pip install cupy-cuda13x)")
    try:
        version, _, devices = run_in_runtime(_CUPY, [], plugins=False).strip().partition(" ")
    except RuntimeProcessError as error:
        return _Item("CuPy", False, f"installed, and not usable: {error}")
    return _Item("CuPy", devices != "0", f"{version}, {devices} devices")
