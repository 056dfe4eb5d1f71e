"""The library of one namespace: objects of generated and of the project's C files, linked. What is fresh stays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, TextIO

from opwright_codegen.building.compiler import SUFFIX, BuildError, Compiler, run_compiler
from opwright_codegen.building.diagnostics import Header, explain, explain_link, lacking, without_header
from opwright_codegen.building.nvcc import Nvcc
from opwright_codegen.building.progress import Progress, shown
from opwright_codegen.building.state import Stamps, State, depended, stamps_before, stamps_of
from opwright_codegen.output.write import locked
from opwright_codegen.records import dataclass, field

__all__ = ["Library"]

_UNDEFINED = re.compile(r"undefined symbol: (\w+)|symbol not found[^']*'_(\w+)'")
_LOAD: Final = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)"
_PART: Final = ".part"
_LOADING_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The outcome of one file: the files that it was made of, or what is wrong; and what the compiler said."""

    said: str
    files: Stamps = field(default_factory=dict)
    problems: Sequence[str] = ()
    failed: bool = False


class Library:
    """The library of a namespace, beside the C files that were generated for it. `part` is the folder of its objects:
    each library has one of its own."""

    def __init__(
        self,
        header: Path,
        namespace: str,
        generated: Sequence[Path],
        sources: Sequence[Path],
        compiler: Compiler | Nvcc,
        part: str = "",
    ) -> None:
        self._header = Header.read(header)
        self._sources = list(sources)
        self._compiler = compiler
        self._language = "C" if isinstance(compiler, Compiler) else "CUDA"
        self._folder = header.parent / "build" / part
        self.target = header.parent / f"_{namespace}{SUFFIX}"
        self._objects = {source: self._object(source) for source in (*generated, *sources)}

    def build(self, *, force: bool, jobs: int, out: TextIO) -> None:
        """Bring objects and library up to date; another build of them is waited for. Raises BuildError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with locked(self._folder):
            state = State(self._folder)  # read last: another build may have written it
            stale = [source for source in self._objects if force or not self._is_fresh(state, source)]
            link = self._compiler.link_command(list(self._objects.values()), self.target)
            progress = Progress(out, len(stale) + 1)
            if stale or not self.target.is_file() or not state.is_linked(link):
                try:
                    self._compile_all(stale, state, jobs, progress)
                    self._link(progress)
                finally:
                    progress.clear()
                state.keep_link(link, self._objects.values())
                self._remove_others()
                what = f"{len(stale)} of {len(self._objects)} files compiled"
            else:
                what = f"up to date, {len(self._objects)} files"
            print(f"{shown(self.target)}: {what}, in {progress.seconds:.2f} s", file=out)

    def _object(self, source: Path) -> Path:
        """Return the object of a file; what its path is hashed to tells files of one name from each other."""
        path = os.fsencode(os.path.relpath(source, self._folder))
        return self._folder / f"{source.stem}-{sha256(path).hexdigest()[:8]}.o"

    def _command(self, source: Path, target: Path) -> list[str]:
        part = target.with_suffix(f".o{_PART}")
        return self._compiler.compile_command(source, part, target.with_suffix(".d"), self._header.path.parent)

    def _is_fresh(self, state: State, source: Path) -> bool:
        target = self._objects[source]
        return state.is_fresh(target, self._command(source, target))

    def _compile_all(self, stale: Sequence[Path], state: State, jobs: int, progress: Progress) -> None:
        """Make the objects of files, some at a time. Raises BuildError with what is wrong in all of them."""
        pool = ThreadPoolExecutor(max(1, min(jobs, len(stale))))
        failed: dict[Path, _Compiled] = {}
        try:
            known = {source: state.files(self._objects[source]) for source in stale}
            running = {pool.submit(self._compile, source, known[source]): source for source in stale}
            while running:
                progress.show(next(iter(running.values())))
                done, _ = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    source = running.pop(future)
                    self._take(source, future, state, failed, progress)
        finally:
            pool.shutdown(cancel_futures=True)
        if failed:
            problems = "".join(f"{line}\n" for found in failed.values() for line in found.problems)
            said = "".join(found.said for found in failed.values())
            names = ", ".join(map(shown, failed))
            raise BuildError(f"compiling {names} failed", "\n".join(filter(None, (problems, said))))

    def _take(
        self, source: Path, future: Future[_Compiled], state: State, failed: dict[Path, _Compiled], progress: Progress
    ) -> None:
        """Keep what came of a file."""
        found = future.result()
        progress.clear()
        progress.done(source)
        if found.failed:
            failed[source] = found
            return
        if found.said:
            print(found.said, end="", file=sys.stderr)  # warnings
        target = self._objects[source]
        state.keep(target, self._command(source, target), found.files)

    def _compile(self, source: Path, known: Iterable[str]) -> _Compiled:
        """Make the object of one file: the old one is replaced when all of the new one is there."""
        target = self._objects[source]
        command = self._command(source, target)
        generated = map(str, self._header.path.parent.glob("*.[ch]*"))
        before, start = stamps_before({str(source), *generated, *known, *self._compiler.tools})
        succeeds, said = run_compiler(command)
        if not succeeds:
            return _Compiled(said, problems=explain(said, self._header, self._sources), failed=True)
        files = depended(target.with_suffix(".d"))
        includes = any(Path(name).name == self._header.path.name for name in files) or source not in self._sources
        problem = "" if includes else without_header(source, self._header)
        if problem:
            return _Compiled(said, problems=[problem], failed=True)
        os.replace(target.with_suffix(f".o{_PART}"), target)
        return _Compiled(said, stamps_of({*files, *self._compiler.tools}, before, start))

    def _link(self, progress: Progress) -> None:
        """Put a new library in the place of the old one, which may be in use. Raises BuildError."""
        progress.show(self.target)
        made = self._folder / f"{self.target.name}{_PART}"
        succeeds, said = run_compiler(self._compiler.link_command(list(self._objects.values()), made))
        if not succeeds:
            problems = "".join(f"{line}\n" for line in explain_link(said, self._named()))
            raise BuildError(f"linking {shown(self.target)} failed", "\n".join(filter(None, (problems, said))))
        self._check(made)
        os.replace(made, self.target)
        progress.done(self.target)

    def _named(self) -> Mapping[Path, Path]:
        return {source: self._objects[source] for source in self._sources}

    def _check(self, library: Path) -> None:
        """Raise BuildError for functions that are promised and that no file has: the linker does not look.

        The library is loaded for that, in a process of its own: what of it runs then may do anything, or never end.
        """
        command = [sys.executable, "-S", "-E", "-c", _LOAD, str(library.absolute())]
        try:
            said = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, timeout=_LOADING_SECONDS
            ).stderr
        except subprocess.TimeoutExpired:
            why = "a function that runs when it is loaded, as __attribute__((constructor)) has it, does not end"
            raise BuildError(f"{shown(self.target)} was not loaded within {_LOADING_SECONDS:.0f} s: {why}") from None
        found = _UNDEFINED.search(said)
        if found is None:
            return
        name = found[1] or found[2]
        _, told = run_compiler(self._compiler.undefined_command(list(self._objects.values())))
        lines = self._lacking(told) or self._lacking(f"undefined symbol: {name}")
        if lines:
            header = shown(self._header.path)
            text = "".join(f"{line}\n" for line in lines)
            raise BuildError(f"functions are missing that {header} declares", text)
        where = "LDFLAGS names libraries, as in LDFLAGS=-lname"
        raise BuildError(f"no {self._language} file has {name!r}, nor has a library: {where}")

    def _lacking(self, said: str) -> list[str]:
        return lacking(said, self._header, self._sources, self._language)

    def _remove_others(self) -> None:
        """Remove objects of files that are none of the library any more."""
        kept = {path.stem for path in self._objects.values()}
        for path in self._folder.iterdir():
            name = Path(path.name.removesuffix(_PART))
            if name.suffix in (".o", ".d") and name.stem not in kept:
                with suppress(OSError):
                    path.unlink()
