"""A project as its build sees it: brought up to date, and which files go into a wheel or a source distribution."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final, NoReturn

from opwright_codegen.building.compiler import SUFFIX, BuildError, ToolsMissing, find_compiler
from opwright_codegen.building.library import Library
from opwright_codegen.commands.build import cores, cuda_libraries, generated_folders, libraries, shims_of
from opwright_codegen.commands.config import Config, read_config
from opwright_codegen.commands.generate import generate
from opwright_codegen.commands.job import Job, job_of
from opwright_codegen.errors import SchemaError, UsageError
from opwright_codegen.output.write import MANIFEST, manifest_names

__all__ = ["ABI", "HAS_LIMITED_API", "OF_C", "Project", "package_path"]

ABI: Final = "cp311"  # the oldest Python whose limited API the C shims keep to
HAS_LIMITED_API: Final = SUFFIX == ".abi3.so"
# What compilers read of a package, and its users do not need. Other CUDA sources are compiled where they are called.
OF_C: Final = (".c", ".h", "_shims.cu", "_sources.txt", ".gitignore")
_ALL: Final = Namespace(check=False, diff=False, dry_run=False, depfile=None, force=False)


class Project:
    """The project of a folder: generated when it is made. Whatever is wrong ends the process with a line."""

    def __init__(self, root: Path) -> None:
        try:
            found = read_config(root / "pyproject.toml")
        except SchemaError as error:
            _stop(str(error))
        if found is None or not found.schemas:
            _stop("pyproject.toml names no schemas: [tool.opwright] has to say schemas = [...] and output = ...")
        self._config: Config = found
        self._job: Job = self._generated()
        self.folders = generated_folders(self._job)
        self._problem = ""

    def _generated(self) -> Job:
        try:
            job = job_of(self._config)
            generate(job, _ALL, sys.stdout)
        except SchemaError as error:
            _stop(str(error))
        except UsageError as error:
            _stop(f"opwright: {error}")
        return job

    @cached_property
    def libraries(self) -> list[Library]:
        """Return the libraries that are built: none where the project has none, or the machine no compiler."""
        try:
            found = [*cuda_libraries(self.folders, self._job.roots, sys.stdout)]
            if any(shims_of(self.folders)):
                found += libraries(self.folders, self._config.native, find_compiler())
        except ToolsMissing as error:
            if self._config.native_required:
                _stop(f"opwright: {error}")
            self._problem = str(error)
            return []
        except (BuildError, UsageError) as error:
            _stop(f"opwright: {error}")
        return found

    def compile(self) -> list[Path]:
        """Return the libraries, brought up to date beside the C files; none, and a line, where nothing is compiled."""
        found = [library.target for library in self.libraries]
        if self._problem:
            print(f"opwright: the C kernels are left out: {self._problem}", file=sys.stderr)
        try:
            for library in self.libraries:
                library.build(force=False, jobs=cores(), out=sys.stdout)
        except BuildError as error:
            _stop(f"{error.output}opwright: {error}")
        return found

    def generated(self, *, with_c: bool) -> Iterator[tuple[Path, Path]]:
        """Yield the generated files: the folder of their package, and each file's path in it."""
        for folder in self.folders:
            for name in (MANIFEST, *manifest_names(folder)):
                if with_c or not name.endswith(OF_C):
                    yield folder, Path(name)

    def sources(self) -> Iterator[Path]:
        """Yield what generated files and libraries are made of: schemas, modules and C files of the project."""
        root = self._config.root.resolve()
        c_files = (path for given in self._config.native.values() for path in given)
        found = [*self._job.inputs(), *(each for path in c_files for each in _below(path))]
        for path in dict.fromkeys(found):
            whole = path.resolve()
            if whole.is_file() and whole.is_relative_to(root):
                yield whole.relative_to(root)


def package_path(folder: Path) -> Path:
    """Return where a package stands among what is imported: `demo/operators` for `src/demo/operators`."""
    whole = Path(os.path.realpath(folder))
    names = [whole.name]
    for parent in whole.parents:
        if not (parent / "__init__.py").is_file():
            break
        names.insert(0, parent.name)
    return Path(*names)


def _below(path: Path) -> list[Path]:
    """Return the files of a folder; a file with the headers beside it."""
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
    return [path, *sorted(path.parent.glob("*.h"))]


def _stop(message: str) -> NoReturn:
    raise SystemExit(message)
