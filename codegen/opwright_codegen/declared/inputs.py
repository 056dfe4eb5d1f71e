"""The inputs of declared sets: files, modules of Python by name, and the folders that these are looked for in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from opwright_codegen.errors import SchemaError
from opwright_codegen.kernels.modules import KernelModules, module_files, parts_of
from opwright_codegen.kernels.used_packages import UsedPackage
from opwright_codegen.records import dataclass, field

__all__ = ["Inputs", "modules_in", "packages_in"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that declared sets follow from.

    `namespace` is that of operators which are declared without one; None forbids them. `kernels`, `rules` and
    `gradients` are modules, `uses` packages whose operators formulas may call. With `strict`, a kernel that no module
    has is an error, else it stays unbound. With `trusted`, results of kernels are as declared. `project` is the folder
    that generated files show paths from, None for file names alone. `beside` are more folders of modules. Reading adds
    modules and CUDA sources that schemas name by path to `named` and `files`.
    """

    root: Path
    schemas: tuple[Path, ...]
    tags: Path | None = None
    namespace: str | None = None
    derivatives: Path | None = None
    kernels: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    strict: bool = True
    trusted: bool = False
    project: Path | None = None
    beside: tuple[Path, ...] = ()
    named: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)

    @property
    def roots(self) -> tuple[Path, ...]:
        """Return where modules are looked for before the installed ones: the project, and beside schemas."""
        schemas = (schema.parent for schema in self.schemas)
        return (self.root, self.root / "src", *dict.fromkeys((*schemas, *self.beside)))

    @property
    def data(self) -> tuple[Path, ...]:
        """Return the files that declare something."""
        return (*self.schemas, *(path for path in (self.tags, self.derivatives) if path is not None))

    @property
    def packages(self) -> tuple[str, ...]:
        """Return the modules that schema files may name by path, beside those of the project."""
        return (*self.kernels, *self.rules, *self.gradients, *self.uses)

    def package(self, namespace: str, namespaces: Sequence[str]) -> str:
        """Return the name of the package for one of several namespaces."""
        return f"opwright_{namespace}"

    def own_packages(self) -> frozenset[str]:
        """Return the packages that are made of these inputs, which cannot build upon themselves."""
        return frozenset()

    def used_packages(self) -> tuple[UsedPackage, ...]:
        """Return the packages whose operators formulas may call."""
        own = self.own_packages()
        return packages_in([name for name in self.uses if name not in own], self.roots)

    def modules(
        self, names: Sequence[str], of: Literal["kernel", "rule", "backward function"] = "kernel"
    ) -> KernelModules:
        """Return the functions of modules, found as those of the schemas are."""
        return KernelModules(names, self.roots, of=of, named=self.named, allowed=self.packages, files=self.files)

    def module_files(self) -> Iterator[Path]:
        """Yield the source files of all modules and used packages. A module that does not exist has none."""
        names = (*self.kernels, *self.rules, *(self.gradients if self.derivatives else ()), *sorted(self.named))
        for part in (part for name in names for part in parts_of(name)):
            with suppress(SchemaError, OSError):
                yield from (path for _, path in module_files(part, self.roots))
        yield from (path for package in self.used_packages() for path in package.files())


def modules_in(names: Sequence[str], roots: Sequence[Path], of: str) -> KernelModules:
    """Return the functions of modules that are in folders or installed."""
    return KernelModules(names, roots, of=of)


def packages_in(names: Iterable[str], roots: Sequence[Path]) -> tuple[UsedPackage, ...]:
    """Return generated packages that are in folders or installed."""
    return tuple(UsedPackage(name, roots) for name in names)
