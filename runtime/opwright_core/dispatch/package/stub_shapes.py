"""Closures of stubs, a maker for each shape (Note [Stubs by shape] in `stub_rows`).

Those of shapes that many operators have look at each argument by itself, which Python does fastest. Those of more
arguments go through them, which takes a sixth more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright_core.dispatch.call.keywords import NOT_GIVEN
from opwright_core.dispatch.call.lookup import find0, find1, find2, find3

__all__ = ["MAKERS", "PLAIN", "Check", "Function"]

Function = Callable[..., Any]


# The position of an argument; a value and two types, maybe the same, of which kernels take it as it is; what converts
# others.
Check = tuple[int, Any, type, type, Callable[[int, Any], Any]]


def _t(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    def stub(x=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        if named or more:
            return callee.call_given((x,), named, more)
        return find1(operator, x)(x)

    return stub


def _ta(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    _, a_default, a_kind, a_other, to_a = checks[0]

    def stub(x=NOT_GIVEN, a=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        if named or more:
            return callee.call_given((x, a), named, more)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        return find1(operator, x)(x, a)

    return stub


def _at(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    _, a_default, a_kind, a_other, to_a = checks[0]

    def stub(a=NOT_GIVEN, x=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        if named or more:
            return callee.call_given((a, x), named, more)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(0, a)
        return find1(operator, x)(a, x)

    return stub


def _taa(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    _, a_default, a_kind, a_other, to_a = checks[0]
    _, b_default, b_kind, b_other, to_b = checks[1]

    def stub(x=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        if named or more:
            return callee.call_given((x, a, b), named, more)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(2, b)
        return find1(operator, x)(x, a, b)

    return stub


def _tt(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    def stub(x=NOT_GIVEN, y=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        if named or more:
            return callee.call_given((x, y), named, more)
        return find2(operator, x, y)(x, y)

    return stub


def _tta(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    _, a_default, a_kind, a_other, to_a = checks[0]

    def stub(x=NOT_GIVEN, y=NOT_GIVEN, a=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        if named or more:
            return callee.call_given((x, y, a), named, more)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(2, a)
        return find2(operator, x, y)(x, y, a)

    return stub


def _ttt(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    def stub(x=NOT_GIVEN, y=NOT_GIVEN, z=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        if named or more:
            return callee.call_given((x, y, z), named, more)
        return find3(operator, x, y, z)(x, y, z)

    return stub


def _taaa(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    _, a_default, a_kind, a_other, to_a = checks[0]
    _, b_default, b_kind, b_other, to_b = checks[1]
    _, c_default, c_kind, c_other, to_c = checks[2]

    def stub(x=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        if named or more:
            return callee.call_given((x, a, b, c), named, more)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(2, b)
        if c is not c_default and type(c) is not c_kind and type(c) is not c_other:
            c = to_c(3, c)
        return find1(operator, x)(x, a, b, c)

    return stub


def _tttaa(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    _, a_default, a_kind, a_other, to_a = checks[0]
    _, b_default, b_kind, b_other, to_b = checks[1]

    def stub(x=NOT_GIVEN, y=NOT_GIVEN, z=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        if named or more:
            return callee.call_given((x, y, z, a, b), named, more)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(3, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(4, b)
        return find3(operator, x, y, z)(x, y, z, a, b)

    return stub


def _four(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    find = _FINDERS[count]

    def stub(a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, d=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        values = [a, b, c, d]
        if named or more:
            return callee.call_given(values, named, more)
        for at, default, kind, other, convert in checks:
            value = values[at]
            if value is not default and type(value) is not kind and type(value) is not other:
                values[at] = convert(at, value)
        return find(operator, *values[:count])(*values)

    return stub


def _five(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    find = _FINDERS[count]

    def stub(a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, d=NOT_GIVEN, e=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        values = [a, b, c, d, e]
        if named or more:
            return callee.call_given(values, named, more)
        for at, default, kind, other, convert in checks:
            value = values[at]
            if value is not default and type(value) is not kind and type(value) is not other:
                values[at] = convert(at, value)
        return find(operator, *values[:count])(*values)

    return stub


def _six(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    find = _FINDERS[count]

    def stub(a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, d=NOT_GIVEN, e=NOT_GIVEN, f=NOT_GIVEN, *more, **named):  # type: ignore[no-untyped-def]
        values = [a, b, c, d, e, f]
        if named or more:
            return callee.call_given(values, named, more)
        for at, default, kind, other, convert in checks:
            value = values[at]
            if value is not default and type(value) is not kind and type(value) is not other:
                values[at] = convert(at, value)
        return find(operator, *values[:count])(*values)

    return stub


def _seven(callee: Any, operator: Any, count: int, *checks: Check) -> Function:
    find = _FINDERS[count]

    def stub(  # type: ignore[no-untyped-def]
        a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, d=NOT_GIVEN, e=NOT_GIVEN, f=NOT_GIVEN, g=NOT_GIVEN, *more, **named
    ):  # fmt: skip
        values = [a, b, c, d, e, f, g]
        if named or more:
            return callee.call_given(values, named, more)
        for at, default, kind, other, convert in checks:
            value = values[at]
            if value is not default and type(value) is not kind and type(value) is not other:
                values[at] = convert(at, value)
        return find(operator, *values[:count])(*values)

    return stub


# Of single overloads, which Python itself binds: to gather names that there are none of takes 4 % of a small call.


def _plain_t(operator: Any) -> Function:
    def stub(x):  # type: ignore[no-untyped-def]
        return find1(operator, x)(x)

    return stub


def _plain_ta(operator: Any, check: Check) -> Function:
    _, a_default, a_kind, a_other, to_a = check

    def stub(x, a):  # type: ignore[no-untyped-def]
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        return find1(operator, x)(x, a)

    return stub


def _plain_tt(operator: Any) -> Function:
    def stub(x, y):  # type: ignore[no-untyped-def]
        return find2(operator, x, y)(x, y)

    return stub


def _plain_tta(operator: Any, check: Check) -> Function:
    _, a_default, a_kind, a_other, to_a = check

    def stub(x, y, a):  # type: ignore[no-untyped-def]
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(2, a)
        return find2(operator, x, y)(x, y, a)

    return stub


PLAIN: Final[dict[str, Callable[..., Function]]] = {
    "T": _plain_t,
    "Ta": _plain_ta,
    "TT": _plain_tt,
    "TTa": _plain_tta,
}
_FINDERS: Final = (find0, find1, find2, find3)
MAKERS: Final[dict[str, Callable[..., Function]]] = {
    "T": _t,
    "Ta": _ta,
    "aT": _at,
    "Taa": _taa,
    "TT": _tt,
    "TTa": _tta,
    "TTT": _ttt,
    "Taaa": _taaa,
    "TTTaa": _tttaa,
    **dict.fromkeys(("TTaa", "TTTa"), _four),
    **dict.fromkeys(("Taaaa", "TTaaa", "aaaaa"), _five),
    **dict.fromkeys(("Taaaaa", "aaaaaa"), _six),
    **dict.fromkeys(("Taaaaaa", "aaaaaaa"), _seven),
}
