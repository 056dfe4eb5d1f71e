"""Nodes that must stay in a graph although nobody reads its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from opwright.registering.effects import effect_of
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet

__all__ = ["has_side_effect", "is_impure"]

_F = TypeVar("_F")
_effectful: Final[set[Any]] = set()
_ASSERTIONS: Final = ("aten::_assert_async", "aten::_assert_tensor_metadata", "aten::_assert_scalar")


def has_side_effect(function: _F) -> _F:
    """Have calls of a function or an operator stay in graphs though nobody reads their result. Return it.

    For operators with effects that their declaration does not tell (logging, counting); those that write to arguments
    or draw random numbers stay anyway, and those of `library.register_effect`. Raises
    TypeError for anything else. Semantics: `torch.fx.node.has_side_effect`.
    """
    if not callable(function):
        raise TypeError(f"has_side_effect() expects a function or an operator, got {type(function).__name__}")
    _effectful.add(function)
    return function


def is_impure(
    op: str, target: Callable[..., Any] | str, module: Any, args: tuple[Any, ...], impure_random: bool = True
) -> bool:
    """Whether such a node must stay although nobody reads it: inputs and outputs, operators that write, draw random
    numbers (`impure_random`), assert, or have a side effect (`has_side_effect`, `library.register_effect`); modules
    that say so (`is_impure`)."""
    if op in ("placeholder", "output"):
        return True
    if op == "call_function":
        return target in _effectful or (isinstance(target, Operator) and _operator_is_impure(target, impure_random))
    if op == "call_method":
        assert isinstance(target, str)
        return target.endswith("_") and not target.endswith("__")  # PyTorch's methods that write end so
    if op == "call_module":
        called = module
        for name in str(target).split("."):
            called = getattr(called, name, None)
        return bool(getattr(called, "is_impure", True))
    return False


def _operator_is_impure(operator: Operator, impure_random: bool) -> bool:
    name, _, _ = operator.name.partition(".")
    if any("!" in each.annotated for each in operator.parts.arguments) or name in _ASSERTIONS:
        return True
    if effect_of(operator) is not None:
        return True
    if impure_random and "nondeterministic_seeded" in operator.tags:
        return True
    return any(isinstance(each, Packet) and operator in each.operators.values() for each in _effectful)
