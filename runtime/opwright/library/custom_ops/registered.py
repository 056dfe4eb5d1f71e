"""The operator and the kernels that belong to a custom operator, and go with it."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from opwright.namespaces import forget
from opwright.registering.kernels import register, undefine
from opwright.registering.lost import forget_lost, lost_definitions
from opwright.registering.removing import Making, Removable, remove_all
from opwright.registering.rules import put_rule
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import Kernel
from opwright_core.dispatch.registry.rule_table import RuleTable
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import DispatchKey

__all__ = ["Registered"]

R = TypeVar("R")


class Registered:
    """An operator, and its registrations by what they are for: one for each purpose, the newest.

    When this is garbage, all is taken back. `replacement` is what a later definition of the same operator registered.
    """

    __slots__ = ("__weakref__", "_held", "_keep", "operator", "replacement")

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.replacement: Registered | None = None
        self._held: dict[Any, Removable] = {}
        forget_lost(operator)
        self._keep = registry.lock.watch(self, functools.partial(_collect, operator, self._held))

    def put(self, purpose: Any, key: DispatchKey, kernel: Kernel, where: str = "") -> None:
        """Register a kernel instead of the one for the same purpose."""
        with registry.lock:
            self.hold(purpose, lambda held: register(self.operator, key, kernel, where=where, held=held))

    def give(self, purpose: Any, table: RuleTable[R], rule: R) -> None:
        """Give the operator of that name a rule in place of the one for the same purpose."""
        self.hold(purpose, lambda held: put_rule(table, self.operator.name, rule, held=held))

    def hold(self, purpose: Any, make: Making) -> None:
        """Register something and keep it, instead of what there was for the same purpose."""
        made: list[Removable] = []
        with registry.lock:
            try:
                make(made)
                self.drop(purpose)
                self._held[purpose] = made[0]
            except BaseException:  # an interrupt of a thread may come anywhere
                remove_all(made)
                raise

    def drop(self, purpose: Any) -> None:
        """Take one registration back."""
        with registry.lock:
            earlier = self._held.get(purpose)
            if earlier is not None:
                earlier.remove()
                del self._held[purpose]

    def current(self) -> Registered:
        """Return the newest definition of the operator."""
        found = self
        while found.replacement is not None:
            found = found.replacement
        return found

    def give_way(self, replacement: Registered) -> None:
        """Take all registrations back; the operator too, unless the replacement goes on with it."""
        registry.check_held()
        self.replacement = replacement
        self._keep()
        if replacement.operator is self.operator:
            _remove_all(self._held)
        else:
            _take_back(self.operator, self._held)


def _remove_all(held: dict[Any, Removable]) -> None:
    for purpose, each in reversed(tuple(held.items())):
        each.remove()
        del held[purpose]


def _collect(operator: Operator, held: dict[Any, Removable]) -> None:
    """Take back what nobody holds any more; errors about what is missing will say so."""
    with registry.lock:
        is_defined = registry.operators.get(operator.name) is operator
        _take_back(operator, held)
        if is_defined:
            lost_definitions.note(operator.where, operator.packet_name, operator.name)


def _take_back(operator: Operator, held: dict[Any, Removable]) -> None:
    with registry.lock:
        _remove_all(held)
        undefine(operator)
        operator.stub = None  # it holds the operator, which holds it
        forget(operator.namespace, operator.base)
