"""The command `build`: the C files of a project compiled to a library beside the generated package.

Only what changed is compiled: `build/state.json` keeps for each object the command that made it, and size and time of
each file that it was made of, as the compiler lists them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TextIO

from opwright_codegen.commands.compiler import BuildError, Compiler, find_compiler
from opwright_codegen.commands.generate import Job, UsageError, generate
from opwright_codegen.output.freshness import fresh_folders
from opwright_codegen.output.write import replace_file

__all__ = ["build"]

_FOLDER: Final = "native"
_SHIMS: Final = "_shims.c"
_STATE: Final = "state.json"
_UNDEFINED = re.compile(r"undefined symbol: (\w+)|symbol not found[^']*'_(\w+)'")


def build(job: Job, native: Mapping[str, Sequence[Path]], arguments: Namespace, out: TextIO) -> int:
    """Bring output and libraries up to date. The exit status: 1 where something fails."""
    if fresh_folders(job.base, job.options(), job.inputs()) is None and (status := generate(job, arguments, out)):
        return status
    folders = fresh_folders(job.base, job.options(), job.inputs()) or [job.base]
    shims = [path for folder in folders for path in sorted(Path(folder, _FOLDER).glob(f"*{_SHIMS}"))]
    if not shims:
        print("no operator has a C kernel: nothing to build", file=out)
        return 0
    try:
        compiler = find_compiler()
        for path in shims:
            namespace = path.name.removesuffix(_SHIMS)
            sources = _sources(native, path.parent, namespace, is_only=len(shims) == 1)
            _Library(path, namespace, sources, compiler, out).build(force=arguments.force)
    except BuildError as error:
        print(error.output, end="", file=sys.stderr)
        print(f"opwright: {error}", file=sys.stderr)
        return 1
    return 0


def _sources(native: Mapping[str, Sequence[Path]], folder: Path, namespace: str, *, is_only: bool) -> list[Path]:
    """Return the C files of a namespace: its loops, and those of the project where it has kernels there.

    Raises UsageError or BuildError for wrong settings.
    """
    loops = folder / f"{namespace}_loops.c"
    found = [loops] if loops.is_file() else []
    if not (folder / f"{namespace}_kernels.h").is_file():
        return found
    if "" in native and not is_only:
        raise UsageError("native of [tool.opwright] is a table, for several namespaces: native = {name = [files], …}")
    named = native.get(namespace) or native.get("")
    if not named:
        raise UsageError('[tool.opwright] names no C files: native = ["csrc"], or a list of files')
    for path in named:
        files = sorted(path.rglob("*.c")) if path.is_dir() else [path]
        if not files or not path.exists():
            problem = "has no C file" if path.is_dir() else "is missing"
            raise BuildError(f"{_shown(path)}, which [tool.opwright] names, {problem}")
        found += (file for file in files if file not in found)
    return found


class _Library:
    """The library of one namespace: objects of the generated shims and of the project's files, linked."""

    def __init__(self, shims: Path, namespace: str, sources: Sequence[Path], compiler: Compiler, out: TextIO) -> None:
        self._shims = shims
        self._namespace = namespace
        self._sources = [shims, *sources]
        self._compiler = compiler
        self._out = out
        self._folder = shims.parent / "build"
        self._target = shims.parent / f"_{namespace}.abi3.so"
        self._state = self._read_state()
        self._start = time.perf_counter()

    def build(self, *, force: bool) -> None:
        """Bring objects and library up to date. Raises BuildError."""
        self._folder.mkdir(exist_ok=True)
        objects = [self._object(number, source) for number, source in enumerate(self._sources)]
        stale = [
            (source, target)
            for source, target in zip(self._sources, objects, strict=True)
            if force or not self._is_fresh(source, target)
        ]
        for number, (source, target) in enumerate(stale, 1):
            self._progress(number, len(stale) + 1, source)
            self._compile(source, target)
        link = self._compiler.link_command(objects, self._target)
        if stale or not self._target.is_file() or self._state.get("link") != link:
            self._progress(len(stale) + 1, len(stale) + 1, self._target)
            self._link(objects)
            self._state["link"] = link
            self._write_state()
            what = f"{len(stale)} of {len(objects)} files compiled"
        else:
            what = f"up to date, {len(objects)} files"
        print(f"{_shown(self._target)}: {what}, in {time.perf_counter() - self._start:.2f} s", file=self._out)

    def _object(self, number: int, source: Path) -> Path:
        """Return the object of a file; the number tells files of one name from each other."""
        return self._folder / f"{number}-{source.stem}.o"

    def _command(self, source: Path, target: Path) -> list[str]:
        return self._compiler.compile_command(source, target, target.with_suffix(".d"), self._shims.parent)

    def _is_fresh(self, source: Path, target: Path) -> bool:
        kept = self._state.get(target.name, {})
        if not target.is_file() or kept.get("command") != self._command(source, target):
            return False
        return all(_stamp(name) == stamp for name, stamp in kept["files"].items())

    def _compile(self, source: Path, target: Path) -> None:
        for key in (target.name, "link"):  # what is linked is older from now on
            self._state.pop(key, None)
        command = self._command(source, target)
        said = self._compiler.run(command, f"compiling {_shown(source)}")
        if said:
            print(said, end="", file=sys.stderr)  # warnings
        files = _depended(target.with_suffix(".d"))
        self._state[target.name] = {"command": command, "files": {name: _stamp(name) for name in files}}
        self._write_state()

    def _link(self, objects: Sequence[Path]) -> None:
        """Put a new library in the place of the old one, which may be in use. Raises BuildError."""
        made = self._folder / self._target.name
        self._compiler.run(self._compiler.link_command(objects, made), f"linking {_shown(self._target)}")
        self._check(made)
        os.replace(made, self._target)

    def _check(self, library: Path) -> None:
        """Raise BuildError for functions that the header promises and no file has: the linker does not look."""
        load = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)"
        command = [sys.executable, "-S", "-E", "-c", load, str(library.absolute())]
        said = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stderr
        if missing := _UNDEFINED.search(said):
            name = missing[1] or missing[2]
            header = _shown(self._shims.parent / f"{self._namespace}_kernels.h")
            raise BuildError(f"no C file has the function {name!r}: {header} says what it takes")

    def _progress(self, number: int, count: int, path: Path) -> None:
        text = f"[{number}/{count}] {_shown(path)}"
        if self._out.isatty():
            print(f"\r\x1b[K{text}, {time.perf_counter() - self._start:.1f} s\r", end="", file=self._out, flush=True)
        else:
            print(text, file=self._out)

    def _read_state(self) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            found = json.loads((self._folder / _STATE).read_bytes())
            if isinstance(found, dict):
                return found
        return {}

    def _write_state(self) -> None:
        replace_file(self._folder / _STATE, json.dumps(self._state, indent=1))


def _stamp(name: str) -> list[int]:
    """Return size and time of a file; nothing where it is gone."""
    with suppress(OSError):
        found = os.stat(name)
        return [found.st_size, found.st_mtime_ns]
    return []


def _depended(depfile: Path) -> Iterable[str]:
    """Yield the files that an object was made of, as the compiler wrote them for make."""
    text = depfile.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ")
    words = re.findall(r"(?:\\ |\\#|\S)+", text.partition(": ")[2])
    return (word.replace("\\ ", " ").replace("\\#", "#").replace("$$", "$") for word in words)


def _shown(path: Path) -> str:
    here = Path.cwd()
    whole = path.absolute()
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else path.as_posix()
