"""Forward formulas of operators: generated modules declare them, loaded when a tensor first has a tangent.

`set_rule(operator, rule)` gives an operator one, instead of the one that a generated module has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from opwright_core.dispatch.registry.rule_table import RuleTable

__all__ = ["RULES", "ForwardRule", "TangentFormula", "name_rules", "set_rule"]


class TangentFormula(NamedTuple):
    """A formula `compute(*arguments, *tangents, *results)` of tangents of some outputs; all else here are positions.

    A tangent that it is given may be None, which stands for zero, but not all of them are. It gives one tangent, or a
    tuple where there are several `outputs`; for an output that is a list, a list.
    """

    compute: Callable[..., Any]
    arguments: tuple[int, ...] = ()
    tangents: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    outputs: tuple[int, ...] = (0,)


class ForwardRule(NamedTuple):
    """A rule by which tangents go through an operator: from `inputs`, by `formulas`.

    `ignored` are the arguments that results do not depend on in a way that could be differentiated. All are positions;
    a tangent of any other argument is an error.
    """

    inputs: tuple[int, ...]
    formulas: tuple[TangentFormula, ...] = ()
    ignored: tuple[int, ...] = ()


RULES: Final[RuleTable[ForwardRule]] = RuleTable()
name_rules: Final = RULES.name_module
set_rule: Final = RULES.give
