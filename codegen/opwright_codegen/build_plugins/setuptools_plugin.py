"""The plug-in of setuptools: generates and compiles a project whose build requires `opwright-codegen`.

Setuptools calls `finalize` for every project that it builds where the generator is installed. It leaves a project alone
if `requires` of [build-system] does not name the generator.
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from setuptools import Command
from setuptools.discovery import FlatLayoutPackageFinder

if TYPE_CHECKING:
    from setuptools import Distribution

    from opwright_codegen.build_plugins.project import Project

__all__ = ["BuildOperators", "finalize"]

_NAME = re.compile(r"\s*opwright[-_.]codegen\s*(?:$|[^\w\s.-])", re.IGNORECASE)


def finalize(distribution: Distribution) -> None:
    """Bring this folder's project up to date before setuptools looks for packages; have it compiled with the rest."""
    if not _asks_for_us(Path("pyproject.toml")):
        return
    from opwright_codegen.build_plugins.project import ABI, HAS_LIMITED_API, Project, package_path

    project = Project(Path.cwd())
    build = distribution.get_command_class("build")
    name = "build_operators"
    commands = [*build.sub_commands, (name, None)]
    distribution.cmdclass["build"] = type("build", (build,), {"sub_commands": commands})
    distribution.cmdclass[name] = type(name, (BuildOperators,), {"project": project})
    # Setuptools takes each folder beside pyproject.toml for a package, and refuses two. One of C files is none.
    folders = [each for each in Path().iterdir() if each.is_dir() and not any(each.rglob("*.py"))]
    left_out = [pattern for each in folders for pattern in (each.name, f"{each.name}.*")]
    FlatLayoutPackageFinder.DEFAULT_EXCLUDE = (*FlatLayoutPackageFinder.DEFAULT_EXCLUDE, *left_out)
    if project.libraries:
        distribution.has_ext_modules = lambda: True
        if HAS_LIMITED_API:
            distribution.get_option_dict("bdist_wheel")["py_limited_api"] = ("opwright", ABI)
    # The wheel needs no C files, which setuptools would take along from the source distribution.
    excluded: dict[str, list[str]] = dict(getattr(distribution, "exclude_package_data", None) or {})
    for folder in project.folders:
        package = ".".join(package_path(folder).parts)
        excluded |= {
            package: ["native/*"],
            f"{package}.native": ["*.[ch]", "*_shims.cu", "*_sources.txt", ".gitignore"],
        }
    distribution.exclude_package_data = excluded


def _asks_for_us(path: Path) -> bool:
    """Whether a project is built by Opwright: its build needs us, and it has our settings."""
    try:
        document: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        needs = document["build-system"]["requires"]
        return "opwright" in document["tool"] and any(_NAME.match(need) for need in needs)
    except (OSError, ValueError, KeyError, TypeError):
        return False


class BuildOperators(Command):
    """The command of setuptools that compiles, and takes generated files and libraries into the wheel."""

    description = "compile the C kernels of Opwright's operators"
    user_options: ClassVar[list[tuple[str, str | None, str | None]]] = []
    project: Project
    editable_mode: bool = False
    build_lib: str | None = None

    def initialize_options(self) -> None:
        """Set what is not known yet."""
        self.build_lib = None
        self.editable_mode = False

    def finalize_options(self) -> None:
        """Take the folder of the build from the command for modules."""
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    def run(self) -> None:
        """Bring the libraries up to date, and copy to the build's folder what the command for modules leaves out."""
        self.project.compile()
        if not self.editable_mode:
            for target, source in self.get_output_mapping().items():
                Path(target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)

    def get_source_files(self) -> list[str]:
        """Return what the source distribution holds for us: schemas, C files, and what was generated."""
        sources = [path.as_posix() for path in self.project.sources()]
        made = (os.path.relpath(folder / name) for folder, name in self.project.generated(with_c=True))
        return [*sources, *(name for name in made if not name.startswith(os.pardir))]

    def get_outputs(self) -> list[str]:
        """Return the files that go into the wheel."""
        return list(self.get_output_mapping())

    def get_output_mapping(self) -> dict[str, str]:
        """Return for each file that goes into the wheel where it is made."""
        found = {}
        for folder, name in self._files():
            target = os.path.normpath(os.path.join(self.build_lib or "", self._place(folder), name))
            found[target] = os.path.relpath(folder / name)
        return found

    def _files(self) -> Iterator[tuple[Path, Path]]:
        yield from self.project.generated(with_c=False)
        for library in self.project.libraries:
            folder = library.target.parents[1]
            yield folder, library.target.relative_to(folder)

    def _place(self, folder: Path) -> Path:
        """Return where a package goes: as setuptools maps folders to packages, else as they nest."""
        from opwright_codegen.build_plugins.project import package_path

        modules = self.get_finalized_command("build_py")
        for package in self.distribution.packages or ():
            if os.path.realpath(modules.get_package_dir(package)) == os.path.realpath(folder):
                return Path(*package.split("."))
        return package_path(folder)
