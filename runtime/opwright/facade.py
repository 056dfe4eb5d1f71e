"""The public names of `opwright`, each found when it is first named. `facade_stub` says them to type checkers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

from opwright.creation.names import FACTORIES
from opwright_core.names.late_imports import import_late
from opwright_core.names.missing import missing_attribute

__all__ = ["CONSTANTS", "missing_from", "of_package", "places_of"]

_PACKAGE: Final = "opwright"
CONSTANTS: Final = ("e", "inf", "nan", "newaxis", "pi")
# The rooms that need neither ATen nor the methods of Tensor: their names load them alone.
_ALONE: Final = (
    "arrays",
    "backends",
    "base",
    "dispatch",
    "errors",
    "generators",
    "keys",
    "plugins",
    "symbolic",
    "threads",
)


def of_package(homes: Mapping[str, str], modules: Iterable[str]) -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """Return the `__getattr__` and the `__dir__` of the package: `homes` names what each module has, `half=float16` by
    another name there; `modules` are names themselves, and the functions of ATen are."""
    places = places_of(homes)

    def find(name: str) -> Any:
        if name in places:
            module, path = places[name]
            found = _load(module)
            for each in path.split("."):
                found = getattr(found, each)
        elif name in modules:
            return _load(f"{_PACKAGE}.{name}")  # Python makes it an attribute
        elif name == "__all__":
            found = [each for each in names() if not each.startswith("_")]
        else:
            found = _function_of_aten(name, names)
        setattr(sys.modules[_PACKAGE], name, found)
        return found

    def names() -> list[str]:
        return sorted({*places, *modules, *CONSTANTS, "__version__", *_whole().operators.__all__})

    return find, names


def places_of(homes: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return for each name its module, and the name or path there."""
    pairs = [(module, *text.partition("=")) for module, texts in homes.items() for text in texts.split()]
    return {name: (module, path or name) for module, name, _, path in pairs}


@cache
def _whole() -> Any:
    return import_late("opwright.aten_setup")


def _load(module: str) -> Any:
    if module.split(".")[1] not in _ALONE:
        _whole()
    return import_late(module)


def _function_of_aten(name: str, names: Callable[[], Iterable[str]]) -> Any:
    if name.startswith("__"):  # what tools ask every module for
        raise missing_attribute(f"module {_PACKAGE!r} has no attribute {name!r}", name, ())
    operators = import_late("opwright_aten.ops")
    if name not in operators.FUNCTIONS:
        hint = import_late("opwright.names.numpy_names").hint_for(name)
        raise missing_attribute(f"module {_PACKAGE!r} has no attribute {name!r}", name, names(), hint)
    if name in FACTORIES:
        return _whole().factories.function(name, getattr(operators, name))
    return getattr(operators, name)  # on arrays it needs no more than any package's: a Tensor has the rest loaded


def missing_from(module: str, names: Iterable[str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that has these names and no others."""

    def refuse(name: str) -> Any:
        raise missing_attribute(f"module {module!r} has no attribute {name!r}", name, names)

    return refuse
