"""`register_flop_formula`: costs that programs give operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from opwright.cost.counting import shape_of
from opwright.cost.tables import COSTS
from opwright.pytree import tree_leaves
from opwright.registering.rules import put_rule
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.call.packets import Packet

__all__ = ["register_flop_formula"]

F = TypeVar("F", bound=Callable[..., Any])


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[F], F]:
    """Decorate a function of a call's arguments that returns its operations: of shapes in place of tensors, with the
    shape of the result as `out_shape`; with `get_raw`, of the tensors, with the result as `out_val`.

    `targets` are operators or packets (all overloads), in lists if there are several. A formula may return a `Cost`.
    Raises ValueError for other targets, RuntimeError for an operator that has a formula. Semantics:
    `torch.utils.flop_counter.register_flop_formula`.
    """
    operators = [each for target in tree_leaves(targets) for each in _operators(target)]

    def register(formula: F) -> F:
        for operator in operators:
            if COSTS.find(operator.name) is not None:
                raise RuntimeError(f"{operator.name} has a formula already")
        for operator in operators:
            put_rule(COSTS, operator.name, formula if get_raw else _of_shapes(formula))
        return formula

    return register


def _operators(target: Any) -> Iterable[Operator]:
    target = getattr(target, "_opoverload", target)
    if isinstance(target, Operator):
        return [target]
    if isinstance(target, Packet):
        return [find_operator(each.name) for each in target.operators.values()]
    raise ValueError(f"a formula is for an operator or a packet, got {target!r} of type {type(target).__name__}")


def _of_shapes(formula: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(formula)
    def called(*values: Any, out_val: Any) -> Any:
        return formula(*map(shape_of, values), out_shape=shape_of(out_val))

    return called
