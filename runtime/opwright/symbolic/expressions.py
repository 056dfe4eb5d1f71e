"""Expressions of symbolic numbers: sympy's sums and products of integers, and calls for everything else.

A sum is kept expanded, so that equal polynomials are equal objects. What is not a polynomial (floor division, maxima,
floats, conditions) is a Call, which sympy only carries: it is simplified here and in `integers`, never by sympy, whose
floats round otherwise than Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cmp_to_key
from typing import Any

from opwright.names.optional_packages import require

require("sympy")

import sympy  # noqa: E402
from sympy.core.symbol import Str  # noqa: E402

Expr = Any
ZERO, ONE, MINUS_ONE = sympy.Integer(0), sympy.Integer(1), sympy.Integer(-1)
TRUE, FALSE = sympy.true, sympy.false
in_order = cmp_to_key(sympy.Basic.compare)
_TOO_MANY_TERMS = 64

_INFIX = {
    "floordiv": "//", "mod": "%", "pow": "**", "eq": "==", "ne": "!=", "le": "<=", "ge": ">=", "lt": "<", "gt": ">",
    "and": "&", "or": "|", "bitand": "&", "bitor": "|", "bitxor": "^", "lshift": "<<", "rshift": ">>",
    "fadd": "+", "fsub": "-", "fmul": "*", "ffloordiv": "//", "fmod": "%", "fpow": "**",
    "truediv": "/", "feq": "==", "fne": "!=", "fle": "<=", "fge": ">=", "flt": "<", "fgt": ">",
}  # fmt: skip
_COMPARISONS = frozenset(
    ["eq", "ne", "le", "ge", "lt", "gt", "feq", "fne", "fle", "fge", "flt", "fgt"],
)


class Call(sympy.Expr):  # type: ignore[misc]
    """A function of this package, by name, applied to expressions."""

    __slots__ = ()
    is_commutative = True

    def __new__(cls, name: str | Str, *arguments: Expr) -> Call:
        found: Call = sympy.Basic.__new__(cls, Str(name) if isinstance(name, str) else name, *arguments)
        return found

    @property
    def name(self) -> str:
        return str(self.args[0].name)

    @property
    def arguments(self) -> tuple[Expr, ...]:
        return tuple(self.args[1:])

    def _sympystr(self, printer: Any) -> str:
        return f"({_call_text(self, printer.doprint)})" if self.name in _INFIX else _call_text(self, printer.doprint)


class Real(sympy.AtomicExpr):  # type: ignore[misc]
    """A Python float, bit for bit."""

    __slots__ = ("value",)
    is_commutative = True
    value: float

    def __new__(cls, value: float) -> Real:
        found: Real = sympy.AtomicExpr.__new__(cls)
        found.value = value
        return found

    def _hashable_content(self) -> tuple[str]:
        return (self.value.hex(),)

    def _sympystr(self, printer: Any) -> str:
        return repr(self.value)


def _call_text(call: Call, text_of: Callable[[Expr], str]) -> str:
    arguments = call.arguments
    if call.name in _COMPARISONS:
        arguments = _sides(*arguments)
    texts = [text_of(each) for each in arguments]
    if call.name not in _INFIX:
        return f"{call.name}({', '.join(map(_without_parentheses, arguments, texts))})"
    if call.name not in _COMPARISONS:
        texts = [
            f"({text})" if each.is_Add or each.is_Mul else text for each, text in zip(arguments, texts, strict=True)
        ]
    return f" {_INFIX[call.name]} ".join(texts)


def _without_parentheses(argument: Expr, text: str) -> str:
    return text[1:-1] if isinstance(argument, Call) and argument.name in _INFIX else text


def _sides(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Return a comparison's sides, with terms of negative sign moved to the other one."""
    moved = [term for term in terms(left) if factored(term)[0] < 0] if left.is_Add else []
    if not moved:
        return left, right
    kept = [term for term in terms(left) if factored(term)[0] > 0]
    return sympy.Add(*kept), sympy.Add(right, *[sympy.Mul(MINUS_ONE, term) for term in moved])


def text_of(expr: Expr) -> str:
    """Return the expression as Python would write it."""
    return _call_text(expr, sympy.sstr) if isinstance(expr, Call) else str(sympy.sstr(expr))


def symbol(name: str) -> Expr:
    """Return an integer symbol of this name."""
    return sympy.Symbol(name, integer=True)


def is_constant(expr: Expr) -> bool:
    """Whether it is an integer, a float, or one of sympy's truth values."""
    return expr.is_Integer or isinstance(expr, Real) or expr is TRUE or expr is FALSE


def value_of(expr: Expr) -> int | float | bool:
    """Return the Python value of a constant."""
    if expr.is_Integer:
        return int(expr.p)
    return expr.value if isinstance(expr, Real) else expr is TRUE


def constant(value: int | float | bool) -> Expr:
    """Return the expression of a Python value."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    return sympy.Integer(value) if isinstance(value, int) else Real(value)


# Polynomials


def terms(expr: Expr) -> tuple[Expr, ...]:
    """Return the summands."""
    return tuple(expr.args) if expr.is_Add else (expr,)


def factored(term: Expr) -> tuple[int, Expr]:
    """Return a summand as coefficient and monomial; the monomial of a number is 1."""
    if term.is_Integer:
        return int(term.p), ONE
    if term.is_Mul and term.args[0].is_Integer:
        return int(term.args[0].p), sympy.Mul._from_args(term.args[1:])
    return 1, term


def polynomial(expr: Expr) -> dict[Expr, int]:
    """Return monomials with their coefficients; that of 1 is the constant."""
    return {monomial: coefficient for coefficient, monomial in map(factored, terms(expr))}


def from_polynomial(coefficients: dict[Expr, int]) -> Expr:
    """Return the sum that `polynomial` takes apart."""
    # Put together as sympy would, without its search for terms to collect: they are distinct.
    summands = [
        _scaled(monomial, factor) for monomial, factor in coefficients.items() if factor and monomial is not ONE
    ]
    if len(summands) > 1:
        summands.sort(key=in_order)
    shift = coefficients.get(ONE, 0)
    if shift:
        summands.insert(0, sympy.Integer(shift))
    return sympy.Add._from_args(summands) if summands else ZERO


def _scaled(monomial: Expr, factor: int) -> Expr:
    if factor == 1:
        return monomial
    factors = monomial.args if monomial.is_Mul else (monomial,)
    return sympy.Mul._from_args((sympy.Integer(factor), *factors))


def add(*summands: Expr) -> Expr:
    """Add expressions."""
    return sympy.Add(*summands)


def multiply(a: Expr, b: Expr) -> Expr:
    """Multiply expressions, out unless that is long."""
    if not (a.is_Add or b.is_Add):
        return sympy.Mul(a, b)
    left, right = terms(a), terms(b)
    if len(left) * len(right) > _TOO_MANY_TERMS:
        return sympy.Mul(a, b)
    return sympy.Add(*[sympy.Mul(x, y) for x in left for y in right])


def subtract(a: Expr, b: Expr) -> Expr:
    """Subtract an expression from another."""
    return sympy.Add(a, multiply(MINUS_ONE, b))


def divide_monomials(a: Expr, b: Expr) -> Expr | None:
    """Return `a / b` where that is a monomial, else None. Neither has a coefficient."""
    if b is ONE:
        return a
    powers = dict(_powers(a))
    for base, exponent in _powers(b):
        have = powers.get(base, 0)
        if have < exponent:
            return None
        powers[base] = have - exponent
    return sympy.Mul(*[sympy.Pow(base, exponent) for base, exponent in powers.items() if exponent])


def _powers(monomial: Expr) -> Iterator[tuple[Expr, int]]:
    for factor in monomial.args if monomial.is_Mul else (monomial,):
        if factor.is_Pow and factor.args[1].is_Integer:
            yield factor.args[0], int(factor.args[1].p)
        elif factor is not ONE:
            yield factor, 1


def common_monomial(monomials: Iterable[Expr]) -> Expr:
    """Return the largest monomial that divides all."""
    common: dict[Expr, int] | None = None
    for each in monomials:
        powers = dict(_powers(each))
        if common is None:
            common = powers
        else:
            common = {base: min(count, powers[base]) for base, count in common.items() if base in powers}
        if not common:
            return ONE
    return sympy.Mul(*[sympy.Pow(base, exponent) for base, exponent in (common or {}).items()])


def divide(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Return quotient and rest, `a == b * quotient + rest`: what can be taken out of `a` in whole multiples of `b`."""
    divisor = polynomial(b)
    lead = max(divisor, key=in_order)
    factor = divisor[lead]
    rest: dict[Expr, int] = polynomial(a)
    quotient: dict[Expr, int] = {}
    kept: dict[Expr, int] = {}
    for _ in range(_TOO_MANY_TERMS):
        if not rest:
            break
        monomial = max(rest, key=in_order)
        coefficient = rest.pop(monomial)
        ratio = divide_monomials(monomial, lead)
        times, left = (0, coefficient) if ratio is None else divmod(coefficient, factor)
        _accumulate(kept, monomial, left)
        if times:
            _accumulate(quotient, ratio, times)
            for each, count in divisor.items():
                if each is not lead:
                    _accumulate(rest, factored(sympy.Mul(each, ratio))[1], -times * count)
    # What is left of a division by a sum is no smaller: nothing is gained by taking it out.
    if rest or (kept and len(divisor) > 1):
        return ZERO, a
    return from_polynomial(quotient), from_polynomial(kept)


def _accumulate(coefficients: dict[Expr, int], monomial: Expr, change: int) -> None:
    total = coefficients.get(monomial, 0) + change
    if total:
        coefficients[monomial] = total
    else:
        coefficients.pop(monomial, None)
