"""Packages whose modules are imported when something of them is first named.

Note [Packages and their parts]: who imports a part of a package takes Python's lock of the part, then that of the
package. A package that imports its parts takes the locks in the other order: two threads that meet there get
importlib's `_DeadlockError`, or a module that is not whole. So a package that `import opwright` does not load, and
parts of which others import, imports none of them itself (`tests/test_rooms.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from opwright_core.names.late_imports import import_late
from opwright_core.names.missing import missing_attribute

__all__ = ["PackageOfFunctions", "names_of_parts"]


def names_of_parts(package: str, names: Sequence[str], *parts: str) -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """Return the `__getattr__` and the `__dir__` of a package whose public names are those of its modules, which are
    imported one after another until a name is found."""

    def find(name: str) -> Any:
        if name in names:
            for part in parts:
                found = vars(import_late(f"{package}.{part}")).get(name)
                if found is not None:
                    setattr(sys.modules[package], name, found)
                    return found
        if name in parts:
            return import_late(f"{package}.{name}")
        raise missing_attribute(f"module {package!r} has no attribute {name!r}", name, names)

    return find, lambda: sorted(names)


class PackageOfFunctions(ModuleType):
    """A package whose functions are not hidden by modules of their names (`import opwright.rules.pointwise`)."""

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, ModuleType) or name not in self.__all__:
            super().__setattr__(name, value)
