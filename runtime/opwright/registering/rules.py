"""Rules that are given to tables of rules (`opwright_core.dispatch.registry.rule_table`), and taken back."""

from __future__ import annotations

from typing import Generic, TypeVar

from opwright.registering.removing import Removable, remove_all
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.forward_rules import RULES, ForwardRule
from opwright_core.dispatch.registry.rule_table import RuleTable
from opwright_core.dispatch.registry.tables import registry

__all__ = ["GivenRule", "give_rule", "put_rule", "set_rule"]

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
        """Take the rule back: the one before it serves again. Doing so again has no effect."""
        with registry.lock:
            left = [each for each in self._table.given.get((self.name, self.of), ()) if each is not self]
            _set(self._table, self.name, self.of, tuple(left))


def put_rule(
    table: RuleTable[R], name: str, rule: R, of: type | None = None, *, held: list[Removable] | None = None
) -> GivenRule[R]:
    """Give the operator of that name, which need not be defined yet, a rule, which is added to `held` as one step
    with that."""
    made = GivenRule(table, name, of, rule)
    with registry.lock:
        try:
            _set(table, name, of, (*table.given.get((name, of), ()), made))
            if held is not None:
                held.append(made)
        except BaseException:  # an interrupt of a thread may come anywhere
            made.remove()
            raise
    return made


def _set(table: RuleTable[R], name: str, of: type | None, rules: tuple[GivenRule[R], ...]) -> None:
    if rules:
        table.given[name, of] = rules
    else:
        table.given.pop((name, of), None)
    registry.forget_tables(name)


def give_rule(table: RuleTable[R], operator: Operator, rule: R, *, held: list[Removable] | None = None) -> GivenRule[R]:
    """Give an operator a rule, which is gone with it, in place of the one that this has given it before; it is
    added to `held` as one step with that."""
    made: list[Removable] = []
    with registry.lock:
        try:
            given = put_rule(table, operator.name, rule, held=made)
            earlier = operator.rules.get(table)
            if earlier is not None:
                earlier.remove()
            operator.rules[table] = given
            if held is not None:
                held.append(given)
        except BaseException:
            remove_all(made)
            raise
    return given


def set_rule(operator: Operator, rule: ForwardRule, *, held: list[Removable] | None = None) -> GivenRule[ForwardRule]:
    """Give an operator a forward rule, in place of the one that a generated module has, as `give_rule` does."""
    return give_rule(RULES, operator, rule, held=held)
