"""Classes whose instances operators take and return as they are. `library.custom_classes` registers them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

__all__ = [
    "CustomClass", "CustomClassBase", "MemberType", "declared_classes", "find_custom_class", "is_declared",
    "keep_custom_class", "name_of", "represented",
]  # fmt: skip


class MemberType(enum.Enum):
    """A way in which a trace takes a member of an instance. Here programs see the instance itself, so that both read
    it; what is read is part of the trace."""

    USE_REAL = "use_real"
    INLINED = "inlined"


class CustomClassBase:
    """A class whose instances may be inputs of graphs: the base of what is registered as symbolic."""


@dataclass(frozen=True, slots=True)
class CustomClass:
    """A registered class. `name` is what schemas call it. An instance of a symbolic one is an input of a graph, one of
    another is written into it, unless it is to be hoisted and was given as an input."""

    name: str
    is_symbolic: bool
    is_hoisted: bool = False
    guard_fn: Callable[[Any], list[Any]] | None = None
    members: Mapping[str, MemberType] = field(default_factory=dict)
    reconstruct_fn: Callable[[Any, Callable[[Any], Any], Any], Any] | None = None

    @property
    def is_input(self) -> bool:
        """Whether an instance that a trace is given is read from there."""
        return self.is_symbolic or self.is_hoisted


_CLASSES: Final[WeakKeyDictionary[type, CustomClass]] = WeakKeyDictionary()
_NAMES: Final[set[str]] = set()


def keep_custom_class(cls: type, found: CustomClass) -> None:
    """Keep what a class is registered as, in the place of what it was."""
    _CLASSES[cls] = found
    _NAMES.add(found.name)


def forget_custom_class(cls: type) -> None:
    """Forget what a class was registered as. Raises KeyError for one that was not."""
    name = _CLASSES.pop(cls).name
    if all(each.name != name for each in _CLASSES.values()):
        _NAMES.discard(name)


def name_of(cls: type) -> str:
    """Return the name of a class in schemas: its module and where it stands there."""
    return f"{cls.__module__}.{cls.__qualname__}".replace(".<locals>", "")


def find_custom_class(cls: type) -> CustomClass | None:
    """Return what a class was registered as, or a class that it derives from; None where none was."""
    if not _NAMES:
        return None
    return next((found for each in cls.__mro__ if (found := _CLASSES.get(each)) is not None), None)


def declared_classes() -> frozenset[str]:
    """Return the names of the registered classes."""
    return frozenset(_NAMES)


def is_declared(name: str) -> bool:
    """Whether a schema may name a class so: a registered one, or any enumeration."""
    return name in _NAMES or name == "enum.Enum"


def represented(value: Any) -> tuple[str, Mapping[str, type]]:
    """Return the Python text that makes a constant instance, and the classes by the names in it. Raises TypeError where
    `__fx_repr__` returns something else."""
    found = value.__fx_repr__()
    match found:
        case (str() as text, dict() as classes):
            return text, classes
        case _:
            raise TypeError(
                f"__fx_repr__ of {type(value).__name__} returns a text and a dict of classes by name, not {found!r:.80}"
            )
