"""Intervals of integers: the values that an expression can have. An end may be infinite (a float)."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any, Final

Bound = int | float  # whole, or infinite
Interval = tuple[Bound, Bound]
EVERYTHING: Final[Interval] = (-inf, inf)


def meet(a: Interval, b: Interval) -> Interval:
    """Return what lies in both intervals."""
    return max(a[0], b[0]), min(a[1], b[1])


def hull(intervals: Iterable[Interval]) -> Interval:
    """Return the smallest interval around all."""
    lows, highs = zip(*intervals, strict=True)
    return min(lows), max(highs)


def times(a: Interval, b: Interval) -> Interval:
    """Return the interval of products."""
    return _corners(a, b, lambda x, y: x * y if x and y else 0)


def plus(a: Interval, b: Interval) -> Interval:
    """Return the interval of sums."""
    return a[0] + b[0], a[1] + b[1]


def power(base: Interval, exponent: int) -> Interval:
    """Return the interval of `base` to a power that is not negative."""
    if exponent % 2 == 0 and base[0] < 0 < base[1]:
        return 0, max(base[0] ** exponent, base[1] ** exponent)
    ends = base[0] ** exponent, base[1] ** exponent
    return min(ends), max(ends)


def floordiv(a: Interval, b: Interval) -> Interval:
    """Return the interval of floor quotients; everything where the divisor may be 0."""
    return EVERYTHING if b[0] <= 0 <= b[1] else _corners(a, b, _floor_quotient)


def _floor_quotient(x: Bound, y: Bound) -> Bound:
    if abs(y) == inf:
        # From either side of 0: a numerator that is infinite too may give any quotient of its sign.
        return 0 if (x >= 0) == (y > 0) else -1 if abs(x) != inf else -inf
    return x // y if abs(x) != inf else x * (1 if y > 0 else -1)


def mod(a: Interval, b: Interval) -> Interval:
    """Return the interval of remainders, of the sign of the divisor."""
    if b[0] > 0:
        return (0, min(a[1], b[1] - 1)) if a[0] >= 0 else (0, b[1] - 1)
    return (b[0] + 1, 0) if b[1] < 0 else EVERYTHING


def maximum(a: Interval, b: Interval) -> Interval:
    """Return the interval of the larger of two."""
    return max(a[0], b[0]), max(a[1], b[1])


def minimum(a: Interval, b: Interval) -> Interval:
    """Return the interval of the smaller of two."""
    return min(a[0], b[0]), min(a[1], b[1])


def _corners(a: Interval, b: Interval, of: Any) -> Interval:
    found = [of(x, y) for x in a for y in b]
    return min(found), max(found)
