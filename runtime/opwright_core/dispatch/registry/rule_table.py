"""Rules of operators under an interpretation: by them tangents, batches or handlers go through the operators."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from opwright_core.dispatch.registry.removing import Removable, remove_all
from opwright_core.dispatch.registry.tables import registry

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["BATCHING", "GivenRule", "RuleTable"]

R = TypeVar("R")


class GivenRule(Generic[R]):
    """A rule that was given at run time, to be taken back."""

    __slots__ = ("_table", "name", "of", "rule")

    def __init__(self, table: RuleTable[R], name: str, of: type | None, rule: R) -> None:
        self._table = table
        self.name = name  # of the operator
        self.of = of
        self.rule = rule

    def remove(self) -> None:
        """Take the rule back: the one before it is used again. Doing so again has no effect."""
        self._table.drop(self)


class RuleTable(Generic[R]):
    """The rules of one interpretation, by operator: the newest that was given, else that of a generated module.

    Generated modules have their rules in `RULES`, by the operators' names within the namespace. They are imported when
    a rule of one of these is first needed. A rule may be `of` one class alone, of a mode or of tensors: it is then
    found for exactly this class. To find a rule takes no lock.
    """

    def __init__(self) -> None:
        self._given: dict[tuple[str, type | None], tuple[GivenRule[R], ...]] = {}
        self._generated: dict[str, R] = {}
        self._unloaded: dict[str, tuple[str, ...]] = {}  # by operator, the modules that are not imported yet

    def find(self, name: str, of: type | None = None) -> R | None:
        """Return the rule of an operator, as far as generated modules are loaded; None if it has none."""
        given = self._given.get((name, of))
        return given[-1].rule if given else self._generated.get(name)

    def put(self, name: str, rule: R, of: type | None = None, *, held: list[Removable] | None = None) -> GivenRule[R]:
        """Give the operator of that name, which need not be defined yet, a rule, which is added to `held` as one step
        with that."""
        made = GivenRule(self, name, of, rule)
        with registry.lock:
            try:
                self._set(name, of, (*self._given.get((name, of), ()), made))
                if held is not None:
                    held.append(made)
            except BaseException:  # an interrupt of a thread may come anywhere
                self.drop(made)
                raise
        return made

    def drop(self, given: GivenRule[R]) -> None:
        """Take a rule back, if it is there."""
        with registry.lock:
            left = [each for each in self._given.get((given.name, given.of), ()) if each is not given]
            self._set(given.name, given.of, tuple(left))

    def _set(self, name: str, of: type | None, rules: tuple[GivenRule[R], ...]) -> None:
        if rules:
            self._given[name, of] = rules
        else:
            self._given.pop((name, of), None)
        registry.forget_tables(name)

    def give(self, operator: Operator, rule: R, *, held: list[Removable] | None = None) -> GivenRule[R]:
        """Give an operator a rule, which is gone with it, instead of the one that this has given it before; it is
        added to `held` as one step with that."""
        made: list[Removable] = []
        with registry.lock:
            try:
                given = self.put(operator.name, rule, held=made)
                earlier = operator.rules.get(self)
                if earlier is not None:
                    earlier.remove()
                operator.rules[self] = given
                if held is not None:
                    held.append(given)
            except BaseException:
                remove_all(made)
                raise
        return given

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
