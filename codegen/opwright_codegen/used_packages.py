"""Packages of generated operators that a project builds upon: what formulas may call of theirs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from opwright_codegen.errors import SchemaError
from opwright_codegen.kernel_modules import module_files

__all__ = ["UsedPackage", "used_files"]

_PUBLIC = re.compile(r"^__all__ = (\[.*?\])$", re.MULTILINE | re.DOTALL)
_METHOD = re.compile(r'^    "(\w+)": ops\.', re.MULTILINE)


class UsedPackage:
    """The operators of a generated package. Its files are found and read when first asked for, and never imported.

    `roots` are folders to look in before the installed packages.
    """

    def __init__(self, name: str, roots: Sequence[Path] = ()) -> None:
        self.name = name
        self._roots = tuple(roots)

    @property
    def alias(self) -> str:
        """What generated modules call its module `ops`: `aten_ops` for that of `opwright_aten`."""
        last = self.name.rpartition(".")[2]
        return f"{last.removeprefix('opwright_').removesuffix('_ops')}_ops"

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """The functions for operators, by base name. Raises SchemaError where the package is none of generated ones."""
        path = _ops_file(self.name, self._roots)
        found = _PUBLIC.search(path.read_text(encoding="utf-8"))
        if found is None:
            message = f"{self.name!r}, named in 'uses' of [tool.opwright], is no package that Opwright generated"
            raise SchemaError("used-package", message, hint="name the package that `opwright generate` writes")
        return tuple(ast.literal_eval(found[1]))

    @cached_property
    def methods(self) -> frozenset[str]:
        """The operators that are methods of Tensor."""
        path = _ops_file(self.name, self._roots).with_name("methods.py")
        return frozenset(_METHOD.findall(path.read_text(encoding="utf-8"))) if path.is_file() else frozenset()


def used_files(packages: Iterable[str], roots: Sequence[Path]) -> Iterator[Path]:
    """The files that are read of the packages; one that there is not has none."""
    for package in packages:
        with suppress(SchemaError, OSError):
            ops = _ops_file(package, roots)
            yield from (path for path in (ops, ops.with_name("methods.py")) if path.is_file())


def _ops_file(package: str, roots: Sequence[Path]) -> Path:
    ((_, path),) = module_files(f"{package}.ops", roots)
    return path
