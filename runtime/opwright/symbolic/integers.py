"""Operations on integers that are no polynomials, simplified as far as ranges allow; and substitution.

All follow Python: floor division and remainders round towards minus infinity. Where Python would raise
ZeroDivisionError, a result may be anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import sympy

from opwright.symbolic import relations
from opwright.symbolic.evaluation import FUNCTIONS
from opwright.symbolic.expressions import (
    MINUS_ONE,
    ONE,
    TRUE,
    ZERO,
    Call,
    Expr,
    add,
    common_monomial,
    constant,
    divide,
    divide_monomials,
    from_polynomial,
    in_order,
    is_constant,
    multiply,
    polynomial,
    subtract,
    value_of,
)
from opwright.symbolic.ranges import Interval

IntervalOf = Callable[[Expr], Interval]
_LONGEST_EXPANDED = 4


def floordiv(a: Expr, b: Expr, interval: IntervalOf) -> Expr:
    """Return `a // b`: whole multiples of `b` are taken out of `a`."""
    if a is ZERO or b is ZERO:
        return ZERO if b is not ZERO else Call("floordiv", a, b)
    if b.is_Integer and b.p < 0:
        a, b = multiply(MINUS_ONE, a), multiply(MINUS_ONE, b)
    quotient, rest = divide(a, b)
    if rest is ZERO:
        return quotient
    rest, divisor = _reduced(rest, b)
    low = interval(divisor)[0]
    if isinstance(rest, Call) and rest.name == "floordiv" and low > 0 and rest.arguments[1].is_Integer:
        inner = floordiv(rest.arguments[0], multiply(rest.arguments[1], divisor), interval)
        return add(quotient, inner)
    least, most = interval(rest)
    if least >= 0 and most < low:
        return quotient
    return add(quotient, Call("floordiv", rest, divisor))


def mod(a: Expr, b: Expr, interval: IntervalOf) -> Expr:
    """Return `a % b`, of the sign of `b`."""
    if b is ZERO:
        return Call("mod", a, b)
    rest = divide(a, b)[1]
    if rest is ZERO:
        return ZERO
    number, monomial = _divisor(rest, b)
    common = multiply(constant(number), monomial)
    rest, divisor = _reduced(rest, b)
    least, most = interval(rest)
    if least >= 0 and most < interval(divisor)[0]:
        return multiply(common, rest)
    return multiply(common, Call("mod", rest, divisor))


def _divisor(a: Expr, b: Expr) -> tuple[int, Expr]:
    """Return the largest number and monomial that divide both."""
    left, right = polynomial(a), polynomial(b)
    return math.gcd(*left.values(), *right.values()), common_monomial([*left, *right])


def _reduced(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Return the fraction without common factors. Those are not zero, where the fraction has a value."""
    number, monomial = _divisor(a, b)
    if number == 1 and monomial is ONE:
        return a, b
    return _divided(a, number, monomial), _divided(b, number, monomial)


def _divided(a: Expr, number: int, monomial: Expr) -> Expr:
    return from_polynomial({divide_monomials(each, monomial): count // number for each, count in polynomial(a).items()})


def power(base: Expr, exponent: Expr) -> Expr:
    """Return `base ** exponent`, the exponent not negative."""
    if not exponent.is_Integer:
        return ONE if base is ONE else Call("pow", base, exponent)
    if base.is_Add and exponent.p <= _LONGEST_EXPANDED:
        found = ONE
        for _ in range(int(exponent.p)):
            found = multiply(found, base)
        return found
    return sympy.Pow(base, exponent)


def absolute(a: Expr, interval: IntervalOf) -> Expr:
    """Return `abs(a)`."""
    return extreme("Max", [a, multiply(MINUS_ONE, a)], interval)


def extreme(name: str, values: list[Expr], interval: IntervalOf) -> Expr:
    """Return `Max` or `Min`; what another value always exceeds is left out."""
    parts: list[Expr] = []
    for value in values:
        for each in value.arguments if isinstance(value, Call) and value.name == name else (value,):
            parts = _with_part(name, parts, each, interval)
    return parts[0] if len(parts) == 1 else Call(name, *sorted(parts, key=in_order))


def _with_part(name: str, parts: list[Expr], added: Expr, interval: IntervalOf) -> list[Expr]:
    kept = []
    for part in parts:
        low, high = interval(subtract(part, added))
        if low >= 0 if name == "Max" else high <= 0:
            return parts
        if not (high <= 0 if name == "Max" else low >= 0):
            kept.append(part)
    return [*kept, added]


def choose(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return `then` where the condition holds, else `otherwise`."""
    if then == otherwise or condition is TRUE:
        return then
    return otherwise if is_constant(condition) else Call("where", condition, then, otherwise)


def substituted(expr: Expr, replacements: Mapping[Expr, Expr], interval: IntervalOf) -> Expr:
    """Return the expression with other expressions instead of symbols, simplified anew."""
    if expr.is_Symbol:
        return replacements.get(expr, expr)
    if not expr.args:
        return expr
    if not isinstance(expr, Call):
        inner = [substituted(each, replacements, interval) for each in expr.args]
        if expr.is_Pow:
            return power(*inner)
        found = inner[0]
        for each in inner[1:]:
            found = add(found, each) if expr.is_Add else multiply(found, each)
        return found
    return rebuilt(expr.name, [substituted(each, replacements, interval) for each in expr.arguments], interval)


def rebuilt(name: str, arguments: list[Expr], interval: IntervalOf) -> Expr:
    """Return a call with other arguments."""
    match name:
        case "floordiv":
            return floordiv(arguments[0], arguments[1], interval)
        case "mod":
            return mod(arguments[0], arguments[1], interval)
        case "pow":
            return power(arguments[0], arguments[1])
        case "Max" | "Min":
            return extreme(name, arguments, interval)
        case "where":
            return choose(arguments[0], arguments[1], arguments[2])
        case "eq" | "ne" | "le" | "ge":
            return relations.compare(name, arguments[0], arguments[1])
        case "and" | "or":
            return relations.combine(name, arguments)
        case "not":
            return relations.negate(arguments[0])
    if all(map(is_constant, arguments)):
        return constant(FUNCTIONS[name](*map(value_of, arguments)))
    return Call(name, *arguments)
