"""The command `build`: the C and CUDA files of a project compiled to libraries beside the generated package.

Only what changed is compiled: `build/state.json` keeps for each object the command that made it, and size and time of
each file that it was made of, as the compiler lists them.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from opwright_codegen.building.compiler import (
    JAX_HEADER,
    BuildError,
    Compiler,
    ToolsMissing,
    find_compiler,
    jax_headers,
    with_headers,
)
from opwright_codegen.building.cuda_sources import CUDA_SHIMS, cuda_sources
from opwright_codegen.building.library import Library
from opwright_codegen.building.nvcc import find_nvcc
from opwright_codegen.building.progress import shown
from opwright_codegen.building.said import findings_of_build
from opwright_codegen.commands.generate import generate
from opwright_codegen.commands.job import Job
from opwright_codegen.errors import UsageError
from opwright_codegen.findings.finding import Finding, Level, Outcome
from opwright_codegen.output.freshness import fresh_folders
from opwright_codegen.output.write import replace_file

__all__ = ["build", "cores", "cuda_libraries", "generated_folders", "libraries", "shims_of"]

_FOLDER: Final = "native"
_SHIMS: Final = "_shims.c"
_LOOPS: Final = "_loops.c"
_JAX: Final = "_jax.c"
_TVM: Final = "_tvm_ffi.c"
_HEADER: Final = "_kernels.h"
_LOG: Final = "build.log"
_LINES: Final = 40  # of what a compiler says, on a terminal


def build(job: Job, native: Mapping[str, Sequence[Path]], arguments: Namespace, out: TextIO, outcome: Outcome) -> int:
    """Bring output and libraries up to date. The exit status: 1 where something fails."""
    job.recall()
    is_fresh = fresh_folders(job.base, job.options(), job.inputs()) is not None
    if not is_fresh and (status := generate(job, arguments, out, outcome)):
        return status
    folders = generated_folders(job)
    try:
        needs_c = any(shims_of(folders))
        found = [
            *(libraries(folders, native, find_compiler()) if needs_c else ()),
            *(jax_libraries(folders, native, find_compiler(), out) if needs_c else ()),
            *(tvm_libraries(folders, native, find_compiler()) if needs_c else ()),
            *cuda_libraries(folders, job.roots, out),
        ]
        if not found and not any(shims_of(folders, CUDA_SHIMS)):
            print("no operator has a kernel in C, or one for nvcc: nothing to build", file=out)
        for library in found:
            library.build(force=arguments.force, jobs=arguments.jobs or cores(), out=out)
        outcome.facts["libraries"] = len(found)
    except ToolsMissing as error:
        print(f"opwright: {error}", file=sys.stderr)
        level: Level = "note" if arguments.optional else "error"
        outcome.findings.append(Finding("tools-missing", str(error), level))
        return 0 if arguments.optional else 1
    except BuildError as error:
        outcome.findings += findings_of_build(error)
        print(_shortened(error.output, folders), end="", file=sys.stderr)
        print(f"opwright: {error}", file=sys.stderr)
        return 1
    return 0


def generated_folders(job: Job) -> list[Path]:
    """Return the folders of the packages that were generated."""
    return [Path(folder) for folder in fresh_folders(job.base, job.options(), job.inputs()) or [job.base]]


def shims_of(folders: Sequence[Path], ending: str = _SHIMS) -> Iterator[Path]:
    """Yield the generated shims of packages, in C or CUDA: those that have such kernels."""
    return (path for folder in folders for path in sorted((folder / _FOLDER).glob(f"*{ending}")))


def libraries(folders: Sequence[Path], native: Mapping[str, Sequence[Path]], compiler: Compiler) -> Iterator[Library]:
    """Yield the library of each namespace that has C kernels. Raises UsageError or BuildError for wrong settings."""
    shims = list(shims_of(folders))
    for path in shims:
        namespace = path.name.removesuffix(_SHIMS)
        header, loops = path.with_name(f"{namespace}{_HEADER}"), path.with_name(f"{namespace}{_LOOPS}")
        generated = [each for each in (path, loops) if each.is_file()]
        # Without a header there are loops alone, which need no file of the project.
        sources = _sources(native, namespace, is_only=len(shims) == 1) if header.is_file() else []
        yield Library(header, namespace, generated, sources, compiler)


def cuda_libraries(folders: Sequence[Path], roots: Sequence[Path], out: TextIO) -> Iterator[Library]:
    """Yield the library of each namespace that has kernels for nvcc; without it a line says so. Raises BuildError."""
    shims = list(shims_of(folders, CUDA_SHIMS))
    nvcc = find_nvcc() if shims else ""
    for path in shims:
        namespace = path.name.removesuffix(CUDA_SHIMS)
        if isinstance(nvcc, str):
            print(f"the CUDA kernels of {namespace} are not built: {nvcc}", file=out)
        else:
            header = path.with_name(f"{namespace}_cuda.h")
            yield Library(header, f"{namespace}_cuda", [path], cuda_sources(path, roots), nvcc, "cuda")


def jax_libraries(
    folders: Sequence[Path], native: Mapping[str, Sequence[Path]], compiler: Compiler, out: TextIO
) -> Iterator[Library]:
    """Yield the library that JAX calls, for each namespace that is given to it; without jaxlib a line says so."""
    is_only = len(list(shims_of(folders))) == 1
    for path in shims_of(folders, _JAX):
        namespace = path.name.removesuffix(_JAX)
        headers = jax_headers()
        if not headers:
            print(f"what JAX calls of {namespace} is not built: jaxlib is not installed", file=out)
            continue
        header, loops = path.with_name(f"{namespace}{_HEADER}"), path.with_name(f"{namespace}{_LOOPS}")
        generated = [each for each in (path, loops) if each.is_file()]
        sources = _sources(native, namespace, is_only=is_only) if header.is_file() else []
        found = with_headers(compiler, headers, JAX_HEADER)
        yield Library(header, f"{namespace}_jax", generated, sources, found, "jax")


def tvm_libraries(
    folders: Sequence[Path], native: Mapping[str, Sequence[Path]], compiler: Compiler
) -> Iterator[Library]:
    """Yield the module of tvm-ffi of each namespace that is given to it."""
    is_only = len(list(shims_of(folders))) == 1
    for path in shims_of(folders, _TVM):
        namespace = path.name.removesuffix(_TVM)
        sources = _sources(native, namespace, is_only=is_only)
        yield Library(path.with_name(f"{namespace}{_HEADER}"), f"{namespace}_tvm_ffi", [path], sources, compiler, "tvm")


def _sources(native: Mapping[str, Sequence[Path]], namespace: str, *, is_only: bool) -> list[Path]:
    """Return the C files of a namespace. Raises UsageError or BuildError for wrong settings."""
    if "" in native and not is_only:
        raise UsageError("native of [tool.opwright] is a table, for several namespaces: native = {name = [files], …}")
    named = native.get(namespace) or native.get("")
    if not named:
        raise UsageError('[tool.opwright] names no C files: native = ["csrc"], or a list of files')
    found: list[Path] = []
    for path in named:
        files = sorted(path.rglob("*.c")) if path.is_dir() else [path]
        if not files or not path.exists():
            problem = "has no C file" if path.is_dir() else "is missing"
            raise BuildError(f"{shown(path)}, which [tool.opwright] names, {problem}")
        found += (file for file in files if file not in found)
    return found


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shortened(text: str, folders: Sequence[Path]) -> str:
    """Return what is shown of what a compiler said: on a terminal its beginning, and where the rest is."""
    lines = text.splitlines(keepends=True)
    if len(lines) <= _LINES or not sys.stderr.isatty():
        return text
    log = next(path for path in (*shims_of(folders), *shims_of(folders, CUDA_SHIMS))).parent / "build" / _LOG
    replace_file(log, text)
    return f"{''.join(lines[:_LINES])}… {len(lines) - _LINES:,} more lines: {shown(log)}\n"
