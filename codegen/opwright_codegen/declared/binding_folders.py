"""Bindings to frameworks: the folders that exist, by name, and the module that each writes beside a package.

A binding is a package with the module `target`, the generator's half. Our bindings are the folders of
`opwright_bindings`, which the distribution `opwright` installs. Bindings of other distributions are entry points of the
group `opwright.bindings`, which name the package. Their metadata is read only for a name that is not ours.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Final

from opwright_codegen.records import dataclass

__all__ = [
    "GROUP",
    "HOME",
    "BindingFolder",
    "files_of",
    "find_bindings",
    "is_module_beside",
    "located",
    "module_file",
    "other_bindings",
    "own_bindings",
    "own_files",
]

GROUP: Final = "opwright.bindings"
HOME: Final = "opwright_bindings"


@dataclass(frozen=True, slots=True)
class BindingFolder:
    """A binding that is installed: its name, its package, and the distribution that it comes from."""

    name: str
    package: str
    distribution: str


@cache
def own_bindings() -> dict[str, BindingFolder]:
    """Return our bindings by name, in alphabetical order; none if only the generator is installed."""
    from opwright_codegen import VERSION

    found = {
        path.name: BindingFolder(path.name, f"{HOME}.{path.name}", f"opwright {VERSION}")
        for top in _folders_of(HOME)
        for path in top.iterdir()
        if (path / "target.py").is_file()
    }
    return dict(sorted(found.items()))


def other_bindings() -> list[BindingFolder]:
    """Return the bindings of other distributions. Those with the name of one of ours are left out."""
    from importlib.metadata import entry_points

    found = {
        BindingFolder(each.name, each.value, f"{each.dist.name} {each.dist.version}" if each.dist is not None else "")
        for each in entry_points(group=GROUP)
        if each.name not in own_bindings()
    }
    return sorted(found, key=lambda each: (each.name, each.package, each.distribution))


def find_bindings(name: str) -> list[BindingFolder]:
    """Return the bindings of that name: one, none, or several of other distributions."""
    own = own_bindings().get(name)
    return [own] if own is not None else [each for each in other_bindings() if each.name == name]


def own_files() -> list[str]:
    """Return the files of our bindings that generated files follow from."""
    shared = [str(top / "__init__.py") for top in _folders_of(HOME)]
    return [*shared, *(path for each in own_bindings().values() for path in files_of(each))]


def files_of(folder: BindingFolder) -> list[str]:
    """Return the files of a binding that generated files follow from: modules and templates of the folder itself."""
    tops = _folders_of(folder.package)
    return sorted(str(path) for top in tops for path in top.iterdir() if path.suffix in (".py", ".j2"))


def _folders_of(package: str) -> list[Path]:
    """Return the folders of a package. Only the packages around it are imported."""
    try:
        spec = find_spec(package)
    except ImportError:
        return []
    return [path for path in map(Path, spec.submodule_search_locations or ()) if path.is_dir()] if spec else []


def module_file(package: str, framework: str) -> str:
    """Return the file that gives the operators of `package` to `framework`, as seen from the package's folder: it
    stands beside that, so that importing the package imports no framework."""
    return f"../{package}_{framework}.py"


def is_module_beside(name: str, folder: Path) -> bool:
    """Return whether the file `name` of a package's folder is the module of a binding, beside that folder."""
    package = re.escape(Path(os.path.realpath(folder)).name)
    return re.fullmatch(module_file(package, r"[a-z]\w*"), str(PurePosixPath(name)), re.ASCII) is not None


def located(folder: Path, name: str) -> Path:
    """Return where the file `name` of a package's folder is. The folder need not be there yet, nor be no link."""
    return Path(os.path.realpath(folder)).parent / name.removeprefix("../") if name.startswith("../") else folder / name
