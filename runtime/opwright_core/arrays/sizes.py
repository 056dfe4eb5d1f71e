"""Questions to ask of sizes that may be symbolic or plain, and functions of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn

import numpy as np

__all__ = [
    "INTS", "Symbolic", "SymbolicBool", "SymbolicFloat", "SymbolicInt", "at_least_one", "binary", "check", "from_front",
    "guard_or_false", "guard_or_true", "holds", "is_number", "is_place", "is_symbolic", "shown", "shown_shape",
    "smaller", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min",
]  # fmt: skip
# Types of an int, NumPy's and symbolic ones too: SymInt is one of them once there are any.
INTS: Final[set[type]] = {int, *[getattr(np, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]}


class Symbolic:
    """The base of symbolic numbers (`opwright.symbolic.numbers`): an expression that a ShapeEnv owns, `env`."""

    __slots__ = ()
    env: Any
    memo: dict[Any, Any]
    origin: Any


class SymbolicInt(Symbolic):
    """The base of SymInt."""

    __slots__ = ()


class SymbolicFloat(Symbolic):
    """The base of SymFloat."""

    __slots__ = ()

    def __trunc__(self) -> Any:
        raise NotImplementedError


class SymbolicBool(Symbolic):
    """The base of SymBool."""

    __slots__ = ()

    def __invert__(self) -> Any:
        raise NotImplementedError


def binary(name: str) -> Callable[[Any, Any], Any]:
    """Return a method that looks a known result up, and has the environment find the others."""

    def method(self: Any, other: Any) -> Any:
        try:
            # The type is part of the key: 2, 2.0 and True are one key to a dict.
            return self.memo[name, self, other, type(other)]
        except (KeyError, TypeError):
            pass
        return self.env.apply(name, self, other)

    return method


def is_symbolic(value: object) -> bool:
    """Whether the value is a SymInt, SymFloat or SymBool."""
    return isinstance(value, Symbolic)


def is_number(value: object) -> bool:
    """Whether the value is a Python number."""
    return isinstance(value, (int, float, complex, Symbolic))


# Questions


def guard_or_false(condition: Any) -> bool:
    """Return the condition's truth, by a guard if need be; False where only data could tell."""
    if type(condition) is bool:
        return condition
    if isinstance(condition, SymbolicBool):
        known: bool | None = condition.env.truth(condition)
        return known is True
    return bool(condition)


def guard_or_true(condition: Any) -> bool:
    """Return the condition's truth, by a guard if need be; True where only data could tell."""
    if type(condition) is bool:
        return condition
    if isinstance(condition, SymbolicBool):
        known: bool | None = condition.env.truth(condition)
        return known is not False
    return bool(condition)


def check(condition: Any, message: str | Callable[[], str] = "") -> None:
    """Raise RuntimeError with the message unless the condition holds.

    Where only data could tell, it is taken to hold from here on, and kept among the environment's deferred assertions.
    """
    if isinstance(condition, SymbolicBool):
        condition.env.expect(condition, message)
    elif not condition:
        raise_failed(condition, message)


def holds(condition: Any) -> bool:
    """Whether the condition holds; where only data could tell it is taken to hold, as by `check`."""
    if type(condition) is bool:
        return condition
    if isinstance(condition, SymbolicBool):
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


def shown(number: Any) -> str:
    """Return a number as an error shows it: an int of a thousand digits as its number of bits."""
    if isinstance(number, int) and number.bit_length() > 128:
        return f"an int of {number.bit_length()} bits"
    return str(number)


def shown_shape(shape: Iterable[Any]) -> str:
    """Return a shape as an error shows it."""
    return f"[{', '.join(map(shown, shape))}]"


def at_least_one(size: Any) -> Any:
    """Return `max(size, 1)`, without a branch where the size is symbolic."""
    return (size if size > 1 else 1) if type(size) is int else sym_max(size, 1)


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller number: one of the two, by a guard if need be; `sym_min` where only data could tell."""
    condition = a < b
    if not isinstance(condition, SymbolicBool):
        return a if condition else b
    known = condition.env.truth(condition)
    return sym_min(a, b) if known is None else a if known else b


def from_front(index: Any, size: Any) -> Any:
    """Return an index of a dimension counted from the front; where only data tells its sign, an expression of both."""
    is_negative = index < 0
    if not isinstance(is_negative, SymbolicBool):
        return index + size if is_negative else index
    known = is_negative.env.truth(is_negative)
    return sym_ite(is_negative, index + size, index) if known is None else index + size if known else index


# Functions, under PyTorch's names. Plain numbers in, plain numbers out.


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger number, without a branch; a float if either is one."""
    if isinstance(a, Symbolic):
        return _maximum(a, b)
    return _maximum(b, a) if isinstance(b, Symbolic) else _plain_extreme(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller number, without a branch; a float if either is one."""
    if isinstance(a, Symbolic):
        return _minimum(a, b)
    return _minimum(b, a) if isinstance(b, Symbolic) else _plain_extreme(min, a, b)


_maximum, _minimum = binary("max"), binary("min")


def _plain_extreme(choose: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    found = choose(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_ite(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return `then` if the condition holds, else `otherwise`, without a branch; both of one type."""
    if isinstance(condition, SymbolicBool):
        return condition.env.choose(condition, then, otherwise)
    return then if condition else otherwise


def sym_int(value: Any) -> Any:
    """Return the number as an int, cut off towards zero."""
    if isinstance(value, SymbolicFloat):
        return value.__trunc__()
    if isinstance(value, SymbolicBool):
        return sym_ite(value, 1, 0)
    return value if isinstance(value, SymbolicInt) else int(value)


def sym_float(value: Any) -> Any:
    """Return the number as a float."""
    if isinstance(value, SymbolicFloat):
        return value
    return value.env.apply_unary("float", value) if isinstance(value, (SymbolicInt, SymbolicBool)) else float(value)
