"""Knowledge of symbols: bounds of sums, values they do not have, symbols that stand for others.

A fact is a bound on the sum of a comparison (`relations`). So one table answers the range of a symbol, `a < b` after a
guard that `a <= b - 1`, and both spellings of anything.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from opwright.symbolic import ranges
from opwright.symbolic.expressions import (
    FALSE,
    MINUS_ONE,
    ONE,
    TRUE,
    ZERO,
    Call,
    Expr,
    add,
    common_monomial,
    constant,
    divide_monomials,
    from_polynomial,
    multiply,
    polynomial,
)
from opwright.symbolic.integers import substituted
from opwright.symbolic.ranges import EVERYTHING, Interval, meet
from opwright.symbolic.relations import LINEAR, Linear, compare, linear, negate, split


class Knowledge:
    """Facts, and what follows from them by intervals. `changes` counts what was learnt, `replaced` the symbols
    that others stand for."""

    def __init__(self) -> None:
        self.bounds: dict[Expr, Interval] = {}
        self.excluded: dict[Expr, set[int]] = {}
        self.truths: dict[Expr, bool] = {}
        self.replacements: dict[Expr, Expr] = {}
        self.changes = self.replaced = 0
        self._intervals: dict[Expr, Interval] = {}

    # Asking

    def interval(self, expr: Expr) -> Interval:
        """Return the values that an integer expression can have."""
        found = self._intervals.get(expr)
        if found is None:
            found = self._intervals[expr] = self._find_interval(expr)
        return found

    def _find_interval(self, expr: Expr) -> Interval:
        if expr.is_Integer:
            return int(expr.p), int(expr.p)
        primitive, factor, shift = split(expr) if expr.is_Add or expr.is_Mul else (expr, 1, 0)
        if primitive is not expr:
            low, high = ranges.times(self.interval(primitive), (factor, factor))
            return low + shift, high + shift
        return meet(self._natural(expr), self.bounds.get(expr, EVERYTHING))

    def _natural(self, expr: Expr) -> Interval:
        if expr.is_Add:
            return self._of_sum(expr)
        if expr.is_Mul:
            found: Interval = (1, 1)
            for factor in expr.args:
                found = ranges.times(found, self.interval(factor))
            return found
        if expr.is_Pow:
            return ranges.power(self.interval(expr.args[0]), int(expr.args[1].p))
        return self._of_call(expr) if isinstance(expr, Call) else EVERYTHING

    def _of_sum(self, expr: Expr) -> Interval:
        found: Interval = (0, 0)
        for each in expr.args:
            found = ranges.plus(found, self.interval(each))
        # s0*s1 - s1 is s1 * (s0 - 1): strides compare by this.
        coefficients = polynomial(expr)
        common = common_monomial(coefficients)
        if common is not ONE and (found[0] < 0 < found[1] or found[0] == 0 or found[1] == 0):
            rest = {divide_monomials(each, common): count for each, count in coefficients.items()}
            found = meet(found, ranges.times(self.interval(common), self.interval(from_polynomial(rest))))
        for each, count in coefficients.items():
            if isinstance(each, Call) and each.name in ("Max", "Min") and abs(count) == 1:
                return meet(found, self._of_extreme(each, count, add(expr, multiply(constant(-count), each))))
        return found

    def _of_extreme(self, call: Call, sign: int, rest: Expr) -> Interval:
        """Return the interval of `Max` or `Min` plus a rest: Max(a, b) + rest is Max(a + rest, b + rest)."""
        each = [self.interval(add(multiply(constant(sign), argument), rest)) for argument in call.arguments]
        return functools.reduce(ranges.maximum if (call.name == "Max") == (sign == 1) else ranges.minimum, each)

    def _of_call(self, call: Call) -> Interval:
        of = self.interval
        match call.name:
            case "floordiv":
                return ranges.floordiv(of(call.arguments[0]), of(call.arguments[1]))
            case "mod":
                return ranges.mod(of(call.arguments[0]), of(call.arguments[1]))
            case "Max" | "Min":
                found = self._of_extreme(call, 1, ZERO)
                is_absolute = call.name == "Max" and multiply(MINUS_ONE, call.arguments[0]) in call.arguments
                return meet(found, (0, math.inf)) if is_absolute else found
            case "where":
                return ranges.hull(map(of, call.arguments[1:]))
            case "pow":
                base, exponent = map(of, call.arguments)
                return (1, math.inf) if base[0] >= 1 and exponent[0] >= 0 else EVERYTHING
        return EVERYTHING

    def decide(self, condition: Expr) -> bool | None:
        """Whether the condition always holds, or never; None where it depends."""
        if condition is TRUE or condition is FALSE:
            return condition is TRUE
        if condition.name in LINEAR:
            return self._decide_linear(linear(condition))
        match condition.name:
            case "and" | "or":
                decisive = condition.name == "or"
                found = {self.decide(each) for each in condition.arguments}
                return decisive if decisive in found else None if None in found else not decisive
            case "not":
                inner = self.decide(condition.arguments[0])
                return None if inner is None else not inner
        return self.truths.get(condition)

    def _decide_linear(self, relation: Linear) -> bool | None:
        low, high = self.interval(relation.sum)
        bound = relation.bound
        match relation.name:
            case "le":
                return True if high <= bound else False if low > bound else None
            case "ge":
                return True if low >= bound else False if high < bound else None
        equal: bool | None = None
        if low == high == bound:
            equal = True
        elif not low <= bound <= high or bound in self.excluded.get(relation.sum, ()):
            equal = False
        return equal if equal is None else equal is (relation.name == "eq")

    # Learning

    def learn(self, condition: Expr) -> None:
        """Take the condition to hold from here on."""
        known = self.decide(condition)
        if known is not None:
            return
        self.changes += 1
        self._intervals.clear()
        match condition.name:
            case name if name in LINEAR:
                self._learn_linear(linear(condition))
            case "and":
                for each in condition.arguments:
                    self.learn(self.put_in(each))
            case "not":
                self.truths[condition.arguments[0]] = False
            case _:
                self.truths[condition] = True

    def _learn_linear(self, relation: Linear) -> None:
        bound = relation.bound
        if relation.name == "ne":
            self._exclude(relation.sum, bound)
            return
        low, high = self.bounds.get(relation.sum, EVERYTHING)
        low = low if relation.name == "le" else max(low, bound)
        high = high if relation.name == "ge" else min(high, bound)
        self.bounds[relation.sum] = low, high
        self._trim(relation.sum)
        low, high = self.interval(relation.sum)
        if low == high:
            self._replace(relation.sum, int(low))

    def _exclude(self, sum: Expr, value: int) -> None:
        self.excluded.setdefault(sum, set()).add(value)
        self._trim(sum)

    def _trim(self, sum: Expr) -> None:
        """Move the ends past excluded values."""
        excluded = self.excluded.get(sum)
        if not excluded:
            return
        self._intervals.clear()
        low, high = self.interval(sum)
        while low in excluded:
            low += 1
        while high in excluded:
            high -= 1
        self.bounds[sum] = low, high
        self._intervals.clear()

    def _replace(self, sum: Expr, value: int) -> None:
        """Replace, from `sum == value` on, one of its symbols by the rest of it."""
        coefficients = polynomial(sum)
        symbols = [each for each in coefficients if each.is_Symbol and abs(coefficients[each]) == 1]
        for each in sorted(symbols, key=_youngest_first):
            rest = {other: count for other, count in coefficients.items() if other is not each}
            if any(each in other.free_symbols for other in rest):
                continue
            solved = add(constant(value), multiply(MINUS_ONE, from_polynomial(rest)))
            self._put_in_place_of(each, solved if coefficients[each] == 1 else multiply(MINUS_ONE, solved))
            return

    def _put_in_place_of(self, symbol: Expr, expr: Expr) -> None:
        self.replacements = {
            old: substituted(new, {symbol: expr}, self.interval) for old, new in self.replacements.items()
        }
        self.replacements[symbol] = expr
        self.replaced += 1
        bounds, excluded, truths = self.bounds, self.excluded, self.truths
        self.bounds, self.excluded, self.truths = {}, {}, {}
        self._intervals.clear()
        for sum, (low, high) in bounds.items():
            if low != -math.inf:
                self.learn(compare("ge", self.put_in(sum), constant(int(low))))
            if high != math.inf:
                self.learn(compare("le", self.put_in(sum), constant(int(high))))
        for sum, values in excluded.items():
            for value in values:
                self.learn(compare("ne", self.put_in(sum), constant(value)))
        for condition, holds in truths.items():
            self.learn(self.put_in(condition) if holds else negate(self.put_in(condition)))
        self._intervals.clear()

    def put_in(self, expr: Expr) -> Expr:
        """Return the expression made anew: replaced symbols are written out, and ranges may have become narrower."""
        return substituted(expr, self.replacements, self.interval)


def _youngest_first(symbol: Any) -> tuple[bool, int]:
    """Order symbols: unbacked ones give way to backed ones, younger to older ones."""
    name = symbol.name
    return not name.startswith("u"), -int(name.lstrip("usf") or 0)
