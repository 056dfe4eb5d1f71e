"""Forward formulas of operators: what generated modules declare, loaded when a tensor first has a tangent.

Rules are read and changed under `registrations.lock`; modules are imported without it (Note [Imports and the
lock] in `dispatcher`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opwright.registrations import lock

if TYPE_CHECKING:
    from opwright.dispatcher import Operator

__all__ = ["ForwardRule", "TangentFormula", "find_rule", "load_rules", "name_rules", "remove_rule", "set_rule"]


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
_unloaded: Final[list[tuple[str, str]]] = []  # (namespace, module)


def name_rules(namespace: str, module: str) -> None:
    """Say which module has the rules of a namespace, in `RULES`, by the names of operators."""
    with lock:
        _unloaded.append((namespace, module))


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


def are_loaded() -> bool:
    """Whether every module that was named is loaded."""
    return not _unloaded


def load_rules() -> None:
    """Import the modules that were named. Must not be called with the lock held."""
    while _unloaded:
        namespace, module = _unloaded[-1]
        rules: Mapping[str, ForwardRule] = importlib.import_module(module).RULES
        with lock:
            for name, rule in rules.items():
                _rules[f"{namespace}::{name}"] = rule
            if (namespace, module) in _unloaded:
                _unloaded.remove((namespace, module))


def find_rule(operator: Operator) -> ForwardRule | None:
    """The rule of an operator: its own, else that of a generated module."""
    return operator.forward_rule or _rules.get(operator.name)
