"""Symbolic numbers, and the questions that code asks of sizes which may be symbolic or plain.

SymInt, SymFloat and SymBool behave as Python's numbers, over an expression that a ShapeEnv (`opwright.symbolic`) owns.
There is one object for one expression, so that tuples of sizes compare and hash at the speed of identity. This module
loads no sympy.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from opwright.symbolic.shape_env import ShapeEnv

__all__ = [
    "SymBool", "SymFloat", "SymInt", "at_least_one", "check", "check_is_size", "from_front", "guard_or_false",
    "guard_or_true", "holds", "is_place", "is_symbolic", "larger", "smaller", "statically_known_true", "sym_float",
    "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
]  # fmt: skip

Operation = Callable[[Any, Any], Any]


def _binary(name: str) -> Operation:
    """Return a method that looks a known result up, and has the environment find the others."""

    def method(self: Any, other: Any) -> Any:
        try:
            # The type is part of the key: 2, 2.0 and True are one key to a dict.
            return self.memo[name, self, other, type(other)]
        except (KeyError, TypeError):
            pass
        return self.env.apply(name, self, other)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        try:
            return self.memo[name, self]
        except KeyError:
            pass
        return self.env.apply_unary(name, self)

    return method


class _Symbolic:
    """The common part of symbolic numbers: an expression, its value where there are hints, and the environment of both.

    Two equal expressions are one object, whose hash is the object's. Expressions that become equal later (a guard says
    so) stay two objects: `==` knows, a dict does not.
    """

    __slots__ = ("_expr", "_found_at", "env", "hint", "memo", "origin")

    # NumPy scalars leave arithmetic to us.
    __array_ufunc__ = None

    env: ShapeEnv
    hint: Any
    memo: dict[Any, Any]

    def __init__(self, env: ShapeEnv, expr: Any, hint: Any) -> None:
        self.env = env
        self.memo = env.memo
        self.origin = expr
        self.hint = hint
        self._expr = expr
        self._found_at = env.revision

    @property
    def expr(self) -> Any:
        """Return the expression in sympy's terms, with what is known of its symbols put in."""
        if self._found_at != self.env.revision:
            self._expr = self.env.simplify(self._expr)
            self._found_at = self.env.revision
        return self._expr

    def __repr__(self) -> str:
        return self.env.show(self)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    __hash__ = object.__hash__

    __eq__ = _binary("eq")
    __ne__ = _binary("ne")


class _Number(_Symbolic):
    """The operators of numbers, as which conditions serve too."""

    __slots__ = ()
    __hash__ = object.__hash__

    def conjugate(self) -> Any:
        """Return the number itself, as of a real one: formulas of gradients ask any number."""
        return self

    __add__, __radd__ = _binary("add"), _binary("radd")
    __sub__, __rsub__ = _binary("sub"), _binary("rsub")
    __mul__, __rmul__ = _binary("mul"), _binary("rmul")
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _binary("rfloordiv")
    __truediv__, __rtruediv__ = _binary("truediv"), _binary("rtruediv")
    __mod__, __rmod__ = _binary("mod"), _binary("rmod")
    __pow__, __rpow__ = _binary("pow"), _binary("rpow")
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
    __and__ = __rand__ = _binary("and")
    __or__ = __ror__ = _binary("or")
    __xor__ = __rxor__ = _binary("xor")
    __lshift__, __rlshift__ = _binary("lshift"), _binary("rlshift")
    __rshift__, __rrshift__ = _binary("rshift"), _binary("rrshift")
    __neg__, __abs__ = _unary("neg"), _unary("abs")
    __floor__, __ceil__, __trunc__ = _unary("floor"), _unary("ceil"), _unary("trunc")

    def __pos__(self) -> Any:
        return self

    def __divmod__(self, other: Any) -> Any:
        quotient = self // other
        return quotient if quotient is NotImplemented else (quotient, self % other)

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __bool__(self) -> bool:
        condition = self != 0
        return condition if type(condition) is bool else self.env.branch(condition)


class SymInt(_Number):
    """An int whose value depends on the sizes of inputs. `hint` is its value for the inputs at hand, None where only
    data tells.

    Branching on it records a guard; `int()` and indexing fix its value by one. Raises GuardOnDataDependentError where
    neither ranges nor a hint decide.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def __index__(self) -> int:
        value: int = self.env.specialize(self)
        return value

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __complex__(self) -> complex:
        return complex(self.__index__())

    def __round__(self, digits: int | None = None) -> SymInt:
        return self


class SymFloat(_Number):
    """A float whose value depends on the sizes of inputs; see SymInt."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __float__(self) -> float:
        value: float = self.env.specialize(self)
        return value

    def __int__(self) -> int:
        return int(self.__float__())

    def __complex__(self) -> complex:
        return complex(self.__float__())

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None:
            return round(self.__float__(), digits)
        return self.env.apply_unary("round", self)


class SymBool(_Number):
    """A condition on symbolic numbers. `bool()` decides it, by a guard if it must; `& | ~` combine conditions, and in
    arithmetic they are 0 or 1."""

    __slots__ = ("known", "spelling", "undecided_at")
    __hash__ = object.__hash__

    def __init__(self, env: ShapeEnv, expr: Any, hint: Any) -> None:
        super().__init__(env, expr, hint)
        self.known: bool | None = None
        self.undecided_at = -1
        self.spelling: tuple[str, Any, Any] | None = None

    __invert__ = _unary("not")

    def __bool__(self) -> bool:
        known = self.known
        return self.env.branch(self) if known is None else known

    def __int__(self) -> int:
        return int(self.__bool__())

    __index__ = __int__


def is_symbolic(value: object) -> bool:
    """Whether the value is a SymInt, SymFloat or SymBool."""
    return isinstance(value, _Symbolic)


# Questions


def guard_or_false(condition: Any) -> bool:
    """Return the condition's truth, by a guard if need be; False where only data could tell."""
    if isinstance(condition, SymBool):
        known: bool | None = condition.env.truth(condition)
        return known is True
    return bool(condition)


def guard_or_true(condition: Any) -> bool:
    """Return the condition's truth, by a guard if need be; True where only data could tell."""
    if isinstance(condition, SymBool):
        known: bool | None = condition.env.truth(condition)
        return known is not False
    return bool(condition)


def statically_known_true(condition: Any) -> bool:
    """Whether the condition holds for all values that its symbols can have. Records no guard."""
    if isinstance(condition, SymBool):
        known: bool | None = condition.env.decide(condition)
        return known is True
    return bool(condition)


def check(condition: Any, message: str | Callable[[], str] = "") -> None:
    """Raise RuntimeError with the message unless the condition holds.

    Where only data could tell, it is taken to hold from here on, and kept among the environment's deferred assertions.
    """
    if isinstance(condition, SymBool):
        condition.env.expect(condition, message)
    elif not condition:
        raise_failed(condition, message)


def holds(condition: Any) -> bool:
    """Whether the condition holds; where only data could tell it is taken to hold, as by `check`."""
    if isinstance(condition, SymBool):
        if not guard_or_true(condition):
            return False
        check(condition)
        return True
    return bool(condition)


def is_place(index: Any, size: Any) -> bool:
    """Whether an index, counted from either end, is within a size; where only data could tell it is taken to be."""
    if type(index) is int and type(size) is int:
        return -size <= index < size
    return holds(-size <= index) and holds(index < size)


def raise_failed(condition: Any, message: str | Callable[[], str]) -> NoReturn:
    """Raise the RuntimeError of a failed `check`."""
    text = message() if callable(message) else message
    raise RuntimeError(
        text or f"expected {'a condition' if condition is False else condition} to hold, but it does not"
    )


def check_is_size(value: Any, message: str | Callable[[], str] = "") -> None:
    """Check that a number can be a size: it is not negative."""
    check(value >= 0, message or (lambda: f"expected a size, which is not negative, but got {value}"))


def at_least_one(size: Any) -> Any:
    """Return `max(size, 1)`, without a branch where the size is symbolic."""
    return (size if size > 1 else 1) if type(size) is int else sym_max(size, 1)


def larger(a: Any, b: Any) -> Any:
    """Return the larger number: one of the two, by a guard if need be; `sym_max` where only data could tell."""
    condition = a > b
    if not isinstance(condition, SymBool):
        return a if condition else b
    known = condition.env.truth(condition)
    return sym_max(a, b) if known is None else a if known else b


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller number: one of the two, by a guard if need be; `sym_min` where only data could tell."""
    condition = a < b
    if not isinstance(condition, SymBool):
        return a if condition else b
    known = condition.env.truth(condition)
    return sym_min(a, b) if known is None else a if known else b


def from_front(index: Any, size: Any) -> Any:
    """Return an index of a dimension counted from the front; where only data tells its sign, an expression of both."""
    is_negative = index < 0
    if not isinstance(is_negative, SymBool):
        return index + size if is_negative else index
    known = is_negative.env.truth(is_negative)
    return sym_ite(is_negative, index + size, index) if known is None else index + size if known else index


# Functions, under PyTorch's names. Plain numbers in, plain numbers out.


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger number, without a branch; a float if either is one."""
    if isinstance(a, _Symbolic):
        return _maximum(a, b)
    return _maximum(b, a) if isinstance(b, _Symbolic) else _plain_extreme(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller number, without a branch; a float if either is one."""
    if isinstance(a, _Symbolic):
        return _minimum(a, b)
    return _minimum(b, a) if isinstance(b, _Symbolic) else _plain_extreme(min, a, b)


_maximum, _minimum = _binary("max"), _binary("min")


def _plain_extreme(choose: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    found = choose(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_not(condition: Any) -> Any:
    """Return the condition negated."""
    return ~condition if isinstance(condition, SymBool) else not condition


def sym_ite(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return `then` if the condition holds, else `otherwise`, without a branch; both of one type."""
    if isinstance(condition, SymBool):
        return condition.env.choose(condition, then, otherwise)
    return then if condition else otherwise


def sym_int(value: Any) -> Any:
    """Return the number as an int, cut off towards zero."""
    if isinstance(value, SymFloat):
        return value.__trunc__()
    return sym_ite(value, 1, 0) if isinstance(value, SymBool) else value if isinstance(value, SymInt) else int(value)


def sym_float(value: Any) -> Any:
    """Return the number as a float."""
    if isinstance(value, SymFloat):
        return value
    return value.env.apply_unary("float", value) if isinstance(value, (SymInt, SymBool)) else float(value)


def sym_sqrt(value: Any) -> Any:
    """Return the square root, a float."""
    return value.env.apply_unary("sqrt", value) if isinstance(value, _Symbolic) else math.sqrt(value)


def sym_sum(values: Iterable[Any]) -> Any:
    """Return the sum of many numbers."""
    return functools.reduce(operator.add, values, 0)
