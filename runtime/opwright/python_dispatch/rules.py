"""Rules for one operator and one mode or subclass: called in place of the class's `__torch_dispatch__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from opwright.dispatch.kernel_forms import lock
from opwright.errors import RegistrationError
from opwright.python_dispatch.modes import TorchDispatchMode
from opwright.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["Rule", "RuleHandle", "find_rule", "register_rule"]

Rule = Callable[..., Any]
_rules: Final[dict[tuple[str, type], RuleHandle]] = {}  # by the operator's name


class RuleHandle:
    """One rule, to be taken back."""

    __slots__ = ("_kind", "function", "name")

    def __init__(self, name: str, kind: type, function: Rule) -> None:
        self.name = name  # of the operator
        self._kind = kind
        self.function = function

    def remove(self) -> None:
        """Take the rule back. Doing so again has no effect."""
        with lock:
            if _rules.get((self.name, self._kind)) is self:
                del _rules[self.name, self._kind]


def register_rule(name: str, kind: type, rule: Rule) -> RuleHandle:
    """Register `rule(mode or class, func, types, args, kwargs)` for the operator of that qualified name.

    `kind` is a TorchDispatchMode or a Tensor subclass with `__torch_dispatch__`; exactly it, not what derives from it.
    Raises TypeError for another class and for what cannot be called, RegistrationError where there is a rule.
    """
    if not isinstance(kind, type) or not (
        issubclass(kind, TorchDispatchMode) or (issubclass(kind, Tensor) and kind.has_dispatch_handler())
    ):
        raise TypeError(f"a rule is for a TorchDispatchMode or a Tensor subclass with __torch_dispatch__, not {kind!r}")
    if not callable(rule):
        raise TypeError(f"a rule must be callable, got {type(rule).__name__} {rule!r}")
    made = RuleHandle(name, kind, rule)
    with lock:
        if _rules.setdefault((name, kind), made) is not made:
            raise RegistrationError(f"{kind.__qualname__} already has a __torch_dispatch__ rule for {name}")
    return made


def find_rule(operator: Operator, kind: type) -> Rule | None:
    """The rule of a class for an operator, if there is one."""
    found = _rules.get((operator.name, kind))
    return None if found is None else found.function
