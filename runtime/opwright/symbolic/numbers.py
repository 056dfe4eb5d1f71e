"""Symbolic numbers: SymInt, SymFloat and SymBool.

They behave as Python's numbers, over an expression that a ShapeEnv (`opwright.symbolic`) owns. There is one object for
one expression, so that tuples of sizes compare and hash at the speed of identity. This module loads no sympy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright_core.arrays.sizes import INTS, SymbolicBool, SymbolicFloat, SymbolicInt, binary

__all__ = ["SymBool", "SymFloat", "SymInt"]


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        try:
            return self.memo[name, self]
        except KeyError:
            pass
        return self.env.apply_unary(name, self)

    return method


class _Expression:
    """The common part of symbolic numbers: an expression, its value where there are hints, and the environment of both.

    Two equal expressions are one object, whose hash is the object's. Expressions that become equal later (a guard says
    so) stay two objects: `==` knows, a dict does not.
    """

    __slots__ = ("_expr", "_found_at", "env", "hint", "memo", "origin")

    # NumPy scalars leave arithmetic to us.
    __array_ufunc__ = None

    env: Any  # a ShapeEnv
    hint: Any
    memo: dict[Any, Any]

    def __init__(self, env: Any, expr: Any, hint: Any) -> None:
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
        text: str = self.env.show(self)
        return text

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    __hash__ = object.__hash__

    __eq__ = binary("eq")
    __ne__ = binary("ne")


class _Number(_Expression):
    """The operators of numbers, which conditions have, too."""

    __slots__ = ()
    __hash__ = object.__hash__

    imag = 0

    @property
    def real(self) -> Any:
        """Return the number itself, as of a real one: rules ask any number."""
        return self

    def conjugate(self) -> Any:
        """Return the number itself, as of a real one: formulas of gradients ask any number."""
        return self

    __add__, __radd__ = binary("add"), binary("radd")
    __sub__, __rsub__ = binary("sub"), binary("rsub")
    __mul__, __rmul__ = binary("mul"), binary("rmul")
    __floordiv__, __rfloordiv__ = binary("floordiv"), binary("rfloordiv")
    __truediv__, __rtruediv__ = binary("truediv"), binary("rtruediv")
    __mod__, __rmod__ = binary("mod"), binary("rmod")
    __pow__, __rpow__ = binary("pow"), binary("rpow")
    __lt__, __le__, __gt__, __ge__ = binary("lt"), binary("le"), binary("gt"), binary("ge")
    __and__ = __rand__ = binary("and")
    __or__ = __ror__ = binary("or")
    __xor__ = __rxor__ = binary("xor")
    __lshift__, __rlshift__ = binary("lshift"), binary("rlshift")
    __rshift__, __rrshift__ = binary("rshift"), binary("rrshift")
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


class SymInt(_Number, SymbolicInt):
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


class SymFloat(_Number, SymbolicFloat):
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


class SymBool(_Number, SymbolicBool):
    """A condition on symbolic numbers. `bool()` decides it, by a guard if it must; `& | ~` combine conditions, and in
    arithmetic they are 0 or 1."""

    __slots__ = ("known", "spelling", "undecided_at")
    __hash__ = object.__hash__

    def __init__(self, env: Any, expr: Any, hint: Any) -> None:
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


INTS.add(SymInt)
