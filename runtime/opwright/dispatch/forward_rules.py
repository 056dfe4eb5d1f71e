"""Forward formulas of operators: what generated modules declare, loaded when a tensor first has a tangent.

Rules are read and changed under `registrations.lock`; modules are imported without it (Note [Imports and the
lock] in `dispatcher`).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opwright.dispatch.kernel_forms import lock

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["ForwardRule", "TangentFormula", "find_rule", "find_unloaded_rules", "name_rules", "remove_rule", "set_rule"]


class TangentFormula(NamedTuple):
    """`compute(*arguments, *tangents, *results)` gives the tangents of some outputs; all else here are positions.

    A tangent that it is given may be None, which stands for zero, but not all of them are. It gives one tangent, or a
    tuple where there are several `outputs`; for an output that is a list, a list.
    """

    compute: Callable[..., Any]
    arguments: tuple[int, ...] = ()
    tangents: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    outputs: tuple[int, ...] = (0,)


class ForwardRule(NamedTuple):
    """How tangents go through an operator: from `inputs`, by `formulas`.

    `ignored` are the arguments that results do not depend on in a way that could be differentiated. All are positions;
    a tangent of any other argument is an error.
    """

    inputs: tuple[int, ...]
    formulas: tuple[TangentFormula, ...] = ()
    ignored: tuple[int, ...] = ()


_rules: Final[dict[str, ForwardRule]] = {}
_unloaded: Final[dict[str, tuple[str, ...]]] = {}  # by operator, the modules of its rules


def name_rules(module: str, names: Iterable[str]) -> None:
    """Say which module has the rules of these operators, in `RULES`, by their names without the namespace."""
    with lock:
        for name in names:
            _unloaded[name] = (*_unloaded.get(name, ()), module)


def set_rule(operator: Operator, rule: ForwardRule) -> None:
    """Give an operator a rule, which is gone with it; in place of the one that a generated module has."""
    with lock:
        operator.forward_rule = rule
        operator.forget_table()


def remove_rule(operator: Operator, rule: ForwardRule) -> None:
    """Take a rule back, unless another one has taken its place."""
    with lock:
        if operator.forward_rule is rule:
            operator.forward_rule = None
            operator.forget_table()


def find_unloaded_rules(operator: Operator) -> Callable[[], None] | None:
    """What imports the modules that may have an operator's rule; None where they are imported, or there are none."""
    return functools.partial(_load, operator.name) if operator.name in _unloaded else None


def _load(name: str) -> None:
    """Import the modules of an operator's rules. Must not be called with the lock held."""
    loaded: dict[str, Mapping[str, ForwardRule]] = {
        module: importlib.import_module(module).RULES for module in _unloaded.get(name, ())
    }
    namespace = name.partition("::")[0]
    with lock:
        for module, rules in loaded.items():
            for short, rule in rules.items():
                _rules[f"{namespace}::{short}"] = rule
                left = tuple(each for each in _unloaded.pop(f"{namespace}::{short}", ()) if each != module)
                if left:
                    _unloaded[f"{namespace}::{short}"] = left


def find_rule(operator: Operator) -> ForwardRule | None:
    """The rule of an operator: its own, else that of a generated module."""
    return operator.forward_rule or _rules.get(operator.name)
