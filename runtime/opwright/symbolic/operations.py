"""Python's operators on symbolic numbers: operands told by kind, results made once and remembered."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright.symbolic import arithmetic, expressions, integers, relations
from opwright.symbolic.arithmetic import COMPARISONS, ON_BITS, OPERATIONS
from opwright.symbolic.evaluation import FUNCTIONS
from opwright.symbolic.expressions import Expr, constant, is_constant, value_of
from opwright.symbolic.knowledge import Knowledge
from opwright.symbolic.numbers import SymBool, SymFloat, SymInt

if TYPE_CHECKING:
    from opwright.symbolic.shape_env import ShapeEnv

_PYTHON: Final[dict[str, Callable[..., Any]]] = {
    **{name: FUNCTIONS[name] for name in COMPARISONS},
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "truediv": operator.truediv,
    "mod": operator.mod,
    "pow": operator.pow,
    "max": max,
    "min": min,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "neg": operator.neg,
    "abs": abs,
    "float": float,
    "sqrt": FUNCTIONS["sqrt"],
    "floor": FUNCTIONS["floor"],
    "ceil": FUNCTIONS["ceil"],
    "trunc": FUNCTIONS["trunc"],
    "round": round,
    "not": operator.not_,
}
_CLASSES: Final[dict[type, type]] = {int: SymInt, float: SymFloat, bool: SymBool}
_KINDS: Final[dict[type, type]] = {
    int: int, float: float, bool: bool, SymInt: int, SymFloat: float, SymBool: bool,
}  # fmt: skip


def kind_of(value: object) -> type | None:
    """Return int, float or bool, which the value is or stands for. None for anything else."""
    known = _KINDS.get(type(value))
    if known is None:
        for base, kind in ((np.bool_, bool), (np.integer, int), (float, float), (np.floating, float), (int, int)):
            if isinstance(value, base):
                return kind
    return known


def _hint_of(value: Any) -> Any:
    return value.hint if type(value) in (SymInt, SymFloat, SymBool) else value


class Operations:
    """The operators of one environment's numbers."""

    def __init__(self, env: ShapeEnv, knowledge: Knowledge) -> None:
        self.env = env
        self.memo: dict[Any, Any] = env.memo
        self.knowledge = knowledge
        self._made: dict[Expr, Any] = {}  # the one object of an expression

    def apply(self, name: str, left: Any, right: Any) -> Any:
        """Apply `left OP right`, where `left` is symbolic; names beginning with r swap the operands.

        NotImplemented where `right` is no number.
        """
        kinds = kind_of(left), kind_of(right)
        if kinds[1] is None:
            return NotImplemented
        if name in OPERATIONS:
            found = self._binary(name, left, right, kinds[0], kinds[1])
        else:
            found = self._binary(name[1:], right, left, kinds[1], kinds[0])
        if found is not NotImplemented:
            self.memo[name, left, right, type(right)] = found
        return found

    def _binary(self, name: str, a: Any, b: Any, kind_a: type | None, kind_b: type | None) -> Any:
        hints = _hint_of(a), _hint_of(b)
        hint = None if hints[0] is None or hints[1] is None else _PYTHON[name](*hints)
        x, y = self.expr_of(a), self.expr_of(b)
        if kind_a is bool and kind_b is bool and name in ("and", "or", "xor", "eq", "ne"):
            if name in ("and", "or"):
                return self.condition(relations.combine(name, [x, y]), hint)
            return self.condition(arithmetic.compare_conditions("eq" if name == "eq" else "ne", x, y), hint)
        if name in ON_BITS and float in (kind_a, kind_b):
            return NotImplemented
        if kind_a is bool:
            x, kind_a = arithmetic.as_int(x), int
        if kind_b is bool:
            y, kind_b = arithmetic.as_int(y), int
        if name in COMPARISONS:
            found = self.condition(arithmetic.compare_numbers(name, x, y, kind_a is int, kind_b is int), hint)
            if type(found) is SymBool and found.spelling is None:
                found.spelling = name, x, y
            return found
        if name in ON_BITS:
            return self.number(int, arithmetic.on_bits(name, x, y, self.knowledge.interval), hint)
        if name == "pow" and kind_a is kind_b is int:
            return self._int_power(x, y, b, hint)
        if kind_a is kind_b is int and name != "truediv":
            return self.number(int, arithmetic.ON_INTS[name](x, y, self.knowledge.interval), hint)
        x, y = (arithmetic.as_float(each) if kind is int else each for each, kind in ((x, kind_a), (y, kind_b)))
        return self.number(float, arithmetic.on_floats(name, x, y), None if hint is None else float(hint))

    def _int_power(self, x: Expr, y: Expr, exponent: Any, hint: Any) -> Any:
        # Which type Python's result has depends on the exponent's sign.
        if exponent >= 0:
            return self.number(int, integers.power(x, y), hint)
        return self.number(float, arithmetic.on_floats("pow", arithmetic.as_float(x), arithmetic.as_float(y)), hint)

    def apply_unary(self, name: str, value: Any) -> Any:
        """Apply neg, abs, floor, ceil, trunc, float, sqrt or not."""
        found = self.memo[name, value] = self._unary(name, value)
        return found

    def _unary(self, name: str, value: Any) -> Any:
        expr = self.expr_of(value)
        hint = None if value.hint is None else _PYTHON[name](value.hint)
        if name == "not":
            return self.condition(relations.negate(expr), hint)
        kind = kind_of(value)
        if kind is bool:
            expr, kind = arithmetic.as_int(expr), int
        if kind is int:
            match name:
                case "neg":
                    return self.number(int, arithmetic.negated(expr), hint)
                case "abs":
                    return self.number(int, integers.absolute(expr, self.knowledge.interval), hint)
                case "floor" | "ceil" | "trunc" | "round":
                    return self.number(int, expr, hint)
            expr = arithmetic.as_float(expr)
            if name == "float":
                return self.number(float, expr, hint)
        kind = int if name in ("floor", "ceil", "trunc", "round") else float
        return self.number(kind, arithmetic.unary_on_floats(name, expr), hint)

    def choose(self, condition: SymBool, then: Any, otherwise: Any) -> Any:
        """Return `then if condition else otherwise`, without a branch."""
        kinds = kind_of(then), kind_of(otherwise)
        if kinds[0] is not kinds[1] or kinds[0] is None:
            raise TypeError(f"sym_ite expects two numbers of one type, but got {then!r} and {otherwise!r}")
        known = self.env.decide(condition)
        if known is not None:
            return then if known else otherwise
        hint = None if condition.hint is None else _hint_of(then if condition.hint else otherwise)
        x, y = self.expr_of(then), self.expr_of(otherwise)
        if kinds[0] is bool:
            both = relations.combine("and", [condition.expr, x])
            neither = relations.combine("and", [relations.negate(condition.expr), y])
            return self.condition(relations.combine("or", [both, neither]), hint)
        return self.number(kinds[0], integers.choose(condition.expr, x, y), hint)

    def expr_of(self, value: Any) -> Expr:
        """Return the expression of a number, plain or of this environment. Raises RuntimeError for another one's."""
        kind = type(value)
        if kind is SymInt or kind is SymFloat or kind is SymBool:
            if value.env is not self.env:
                raise RuntimeError(f"{value} belongs to another ShapeEnv than the numbers that it meets")
            return value.expr
        found = kind_of(value)
        return constant(value if found is None else found(value))

    def number(self, kind: type, expr: Expr, hint: Any) -> Any:
        """Return the one object of an expression; a plain number where it is constant."""
        if is_constant(expr):
            return kind(value_of(expr))
        found = self._made.get(expr)
        if found is None:
            found = self._made[expr] = _CLASSES[kind](self.env, expr, hint)
        return found

    def condition(self, expr: Expr, hint: Any) -> Any:
        """Return the one object of a condition; a plain bool where it is decided."""
        known = self.knowledge.decide(expr)
        return self.number(bool, expr, hint) if known is None else known

    def show(self, value: Any) -> str:
        """Return a number as Python would write it; a condition as it was first written."""
        if type(value) is SymBool and value.spelling is not None:
            return expressions.text_of(expressions.Call(*value.spelling))
        return expressions.text_of(value.expr)
