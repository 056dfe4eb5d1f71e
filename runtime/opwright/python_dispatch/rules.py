"""Rules for one operator and one mode or subclass: called instead of the class's `__torch_dispatch__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright.python_dispatch.modes import TorchDispatchMode
from opwright.registering.removing import Removable
from opwright.registering.rules import GivenRule, put_rule
from opwright_core.dispatch.registry.rule_table import RuleTable
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import RegistrationError
from opwright_core.tensors.tensor import Tensor

__all__ = ["RULES", "Rule", "register_rule"]

Rule = Callable[..., Any]
RULES: Final[RuleTable[Rule]] = RuleTable()


def register_rule(name: str, kind: type, rule: Rule, held: list[Removable] | None = None) -> GivenRule[Rule]:
    """Register `rule(mode or class, func, types, args, kwargs)` for the operator of that qualified name.

    `kind` is a TorchDispatchMode or a Tensor subclass with `__torch_dispatch__`; exactly it, not what derives from it.
    The rule is added to `held` as one step with that.
    Raises TypeError for another class and for what cannot be called, RegistrationError where there is a rule.
    """
    if not isinstance(kind, type) or not (
        issubclass(kind, TorchDispatchMode) or (issubclass(kind, Tensor) and kind.has_dispatch_handler())
    ):
        raise TypeError(f"a rule is for a TorchDispatchMode or a Tensor subclass with __torch_dispatch__, not {kind!r}")
    if not callable(rule):
        raise TypeError(f"a rule must be callable, got {type(rule).__name__} {rule!r}")
    with registry.lock:
        if RULES.find(name, kind) is not None:
            raise RegistrationError(f"{kind.__qualname__} already has a __torch_dispatch__ rule for {name}")
        return put_rule(RULES, name, rule, kind, held=held)
