"""Rules of operators under an interpretation: by them tangents, batches or handlers go through the operators."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

from opwright_core.dispatch.registry.tables import registry

__all__ = ["BATCHING", "RuleTable"]

R = TypeVar("R")


class RuleTable(Generic[R]):
    """The rules of one interpretation, by operator: the newest that was given, else that of a generated module.

    Generated modules have their rules in `RULES`, by the operators' names within the namespace. They are imported when
    a rule of one of these is first needed. A rule may be `of` one class alone, of a mode or of tensors: it is then
    found for exactly this class. To find a rule takes no lock. `opwright.registering.rules` gives them.
    """

    def __init__(self) -> None:
        self.given: dict[tuple[str, type | None], tuple[Any, ...]] = {}  # `GivenRule`s
        self._generated: dict[str, R] = {}
        self._unloaded: dict[str, tuple[str, ...]] = {}  # by operator, the modules that are not imported yet

    def find(self, name: str, of: type | None = None) -> R | None:
        """Return the rule of an operator, as far as generated modules are loaded; None if it has none."""
        given = self.given.get((name, of))
        return given[-1].rule if given else self._generated.get(name)

    def name_module(self, module: str, names: Iterable[str]) -> None:
        """Say which module has the rules of these operators."""
        with registry.lock:
            for name in names:
                self._unloaded[name] = (*self._unloaded.get(name, ()), module)

    def find_unloaded(self, name: str) -> Callable[[], None] | None:
        """Return a function that imports the modules of an operator's rules; None if there is none left to import."""
        return functools.partial(self._load, name) if name in self._unloaded else None

    def _load(self, name: str) -> None:
        """Import the modules of an operator's rules. Must not be called with the registry's lock held (Note [Imports
        and the lock] in `operator`)."""
        modules = self._unloaded.get(name, ())
        loaded: list[tuple[str, Mapping[str, R]]] = [(each, importlib.import_module(each).RULES) for each in modules]
        namespace = name.partition("::")[0]
        with registry.lock:
            for module, rules in loaded:
                for short, rule in rules.items():
                    self._generated[f"{namespace}::{short}"] = rule
                    self._forget_module(f"{namespace}::{short}", module)
                self._forget_module(name, module)  # also where it has no rule, which is asked for no more

    def _forget_module(self, name: str, module: str) -> None:
        left = tuple(each for each in self._unloaded.pop(name, ()) if each != module)
        if left:
            self._unloaded[name] = left


# The families of `opwright.batching` that operators of generated modules belong to, loaded when `vmap` first needs one.
BATCHING: Final[RuleTable[Any]] = RuleTable()
