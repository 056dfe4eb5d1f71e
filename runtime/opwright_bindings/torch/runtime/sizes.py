"""PyTorch's symbolic sizes as ours: rules compute with SymInts of ours, each of which holds one of PyTorch's.

What a rule asks of a size becomes a guard of PyTorch's. Ours hash and compare as objects, so that the memos of rules
take them; PyTorch's do not.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from opwright.errors import GuardOnDataDependentError
from opwright.symbolic.numbers import SymBool, SymFloat, SymInt
from opwright_core.arrays.sizes import Symbolic

__all__ = ["Sizes"]

_CLASSES: Final[dict[type, Any]] = {torch.SymInt: SymInt, torch.SymFloat: SymFloat, torch.SymBool: SymBool}
_BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    **{
        name: getattr(operator, name)
        for name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "floordiv", "truediv", "mod", "pow",
                     "xor", "lshift", "rshift")
    },
    "and": operator.and_,
    "or": operator.or_,
    "max": torch.sym_max,
    "min": torch.sym_min,
}  # fmt: skip
_UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "neg": operator.neg,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": torch.sym_int,
    "round": round,
    "float": torch.sym_float,
    "sqrt": lambda value: torch.sym_sqrt(value),
    "not": torch.sym_not,
}


class Sizes:
    """The symbolic numbers of one call of a fake kernel: what a ShapeEnv is to numbers of our own."""

    allow_scalar_outputs = True
    allow_dynamic_output_shape_ops = True
    revision = 0

    def __init__(self) -> None:
        self.memo: dict[Any, Any] = {}
        self._known: dict[tuple[type, Any], Any] = {}

    def ours(self, value: Any) -> Any:
        """Return one of PyTorch's numbers as ours; any other value as it is."""
        kind = _CLASSES.get(type(value))
        if kind is None:
            return value
        if kind is SymInt and (known := value.node.maybe_as_int()) is not None:
            return known
        key = (kind, value.node.expr)
        found = self._known.get(key)
        if found is None:
            hint = value.node.hint if value.node.has_hint() else None
            found = self._known[key] = kind(self, value, hint)
        return found

    @staticmethod
    def theirs(value: Any) -> Any:
        """Return one of our numbers as PyTorch's; any other value as it is."""
        return value.origin if isinstance(value, Symbolic) else value

    def apply(self, name: str, one: Any, other: Any) -> Any:
        """Return what an operator of Python gives for two numbers; a leading `r` turns them round."""
        if not isinstance(other, (Symbolic, int, float)):
            return NotImplemented
        call = _BINARY.get(name)
        left, right = self.theirs(one), self.theirs(other)
        if call is None:
            call, left, right = _BINARY[name[1:]], right, left
        found = self.ours(call(left, right))
        self.memo[name, one, other, type(other)] = found
        return found

    def apply_unary(self, name: str, one: Any) -> Any:
        """Return what a function of one number gives."""
        found = self.memo[name, one] = self.ours(_UNARY[name](self.theirs(one)))
        return found

    def decide(self, condition: SymBool) -> bool | None:
        """Whether a condition always holds, or never; None where it depends on its symbols."""
        if condition.known is None:
            if statically_known_true(condition.origin):
                condition.known = True
            elif statically_known_true(torch.sym_not(condition.origin)):
                condition.known = False
        return condition.known

    def truth(self, condition: SymBool | bool) -> bool | None:
        """Whether a condition holds, by a guard of PyTorch's if need be; None where only data tells."""
        if not isinstance(condition, SymBool):
            return condition
        known = self.decide(condition)
        if known is None and condition.hint is not None:
            known = condition.known = bool(condition.origin)
        return known

    def branch(self, condition: SymBool) -> bool:
        """Return `bool(condition)`. Raises GuardOnDataDependentError where only data tells."""
        known = self.truth(condition)
        if known is None:
            # Frames: this one, __bool__, who asks. Note [Undecided comparisons] in `layouts`.
            if "UNDECIDED_IS_FALSE" in sys._getframe(2).f_globals:
                return False
            raise GuardOnDataDependentError(f"whether {condition} depends on data, which a fake tensor does not have")
        return known

    def specialize(self, value: SymInt | SymFloat) -> Any:
        """Return `int(value)` or `float(value)`, which a guard of PyTorch's fixes."""
        return int(value.origin) if isinstance(value, SymInt) else float(value.origin)

    def expect(self, condition: SymBool, message: str | Callable[[], str]) -> None:
        """Take the condition to hold, as PyTorch's `_check` does. Raises RuntimeError where it does not."""
        text = message if callable(message) else lambda: message
        torch._check(condition.origin, text)

    def choose(self, condition: SymBool, then: Any, otherwise: Any) -> Any:
        """Return `then` if the condition holds, else `otherwise`, without a branch."""
        return self.ours(torch.sym_ite(condition.origin, self.theirs(then), self.theirs(otherwise)))

    def create_unbacked_symint(self, *, min: int = 0, max: int | None = None, source: str = "") -> Any:
        """Make a number that only data tells, by the fake kernel that PyTorch runs."""
        context = torch.library.get_ctx()
        if min >= 0:
            return self.ours(context.new_dynamic_size(min=min, max=max))
        return self.ours(context._shape_env.create_unbacked_symint())

    def create_unbacked_symfloat(self, *, source: str = "") -> Any:
        """Make a float that only data tells."""
        return self.ours(torch.library.get_ctx()._shape_env.create_unbacked_symfloat())

    def create_unbacked_symbool(self, *, source: str = "") -> Any:
        """Make a condition that only data tells."""
        return self.ours(torch.library.get_ctx()._shape_env.create_unbacked_symbool())

    def show(self, value: Symbolic) -> str:
        """Return a number as text."""
        return str(value.origin)

    def simplify(self, expr: Any) -> Any:
        """Return the number itself: PyTorch simplifies it."""
        return expr

    def evaluate(self, value: Any, bindings: Mapping[str, int]) -> Any:
        """Refuse: PyTorch knows the values."""
        raise NotImplementedError("PyTorch's symbolic sizes are evaluated by PyTorch")
