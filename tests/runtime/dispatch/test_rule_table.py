"""Tables of rules: what was given last serves, then what modules have, which are imported when they are needed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from opwright.registering.kernels import registered, undefine
from opwright.registering.rules import give_rule, put_rule
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.rule_table import RuleTable
from opwright_core.dispatch.registry.tables import registry


def test_the_newest_serves_until_it_is_taken_back() -> None:
    table: RuleTable[str] = RuleTable()
    first, second = put_rule(table, "rules::f", "first"), put_rule(table, "rules::f", "second")
    assert (table.find("rules::f"), table.find("rules::g")) == ("second", None)
    first.remove()
    assert table.find("rules::f") == "second"
    second.remove()
    second.remove()
    assert table.find("rules::f") is None


def test_a_rule_of_a_class_is_of_no_other() -> None:
    table: RuleTable[str] = RuleTable()
    put_rule(table, "rules::f", "of int", int)
    assert (table.find("rules::f", int), table.find("rules::f", bool), table.find("rules::f")) == ("of int", None, None)


def test_a_rule_goes_with_its_operator_or_stays_for_its_name(define: Any) -> None:
    operator = define("f(Tensor x) -> Tensor")
    table: RuleTable[str] = RuleTable()
    put_rule(table, operator.name, "of the name")
    give_rule(table, operator, "earlier")
    give_rule(table, operator, "of the operator")
    assert table.find(operator.name) == "of the operator"
    with registry.lock:
        undefine(operator)
    assert table.find(operator.name) == "of the name"


def test_giving_and_taking_a_rule_clears_the_table(define: Any) -> None:
    operator: Operator = define("f(Tensor x) -> Tensor")
    table: RuleTable[str] = RuleTable()
    operator.table[1] = print
    given = give_rule(table, operator, "one")
    assert not operator.table
    operator.table[1] = print
    given.remove()
    assert not operator.table


def test_modules_are_imported_when_a_rule_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("rules_of_a_test")
    module.RULES = {"f": "generated"}
    monkeypatch.setitem(sys.modules, module.__name__, module)
    table: RuleTable[str] = RuleTable()
    table.name_module(module.__name__, ["rules::f", "rules::g"])
    assert table.find("rules::f") is None and table.find_unloaded("rules::h") is None
    load = table.find_unloaded("rules::f")
    assert load is not None
    load()
    assert table.find("rules::f") == "generated" and table.find_unloaded("rules::f") is None
    given = put_rule(table, "rules::f", "given")
    assert table.find("rules::f") == "given"
    given.remove()
    assert table.find("rules::f") == "generated"


def test_what_needs_the_lock_says_so(define: Any) -> None:
    operator: Operator = define("f(Tensor x) -> Tensor")
    for change in (
        lambda: undefine(operator),
        lambda: registered(operator.name, "CPU"),
        operator.forget_table,
    ):
        with pytest.raises(AssertionError, match="lock must be held"):
            change()
    assert registry.operators[operator.name] is operator
