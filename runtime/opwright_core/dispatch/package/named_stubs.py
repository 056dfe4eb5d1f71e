"""More closures of functions that take arguments by other names: those of shapes that fewer operators have
(Note [Stubs by shape] in `stub_rows`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opwright_core.dispatch.call.keywords import NOT_GIVEN
from opwright_core.dispatch.call.lookup import find0, find1, find2, find3

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.package.generated import Overloaded
    from opwright_core.dispatch.package.stub_rows import Check, Function

__all__ = ["NAMED"]


def _taa(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]

    def stub(x=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((x, a, b), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(2, b)
        return find1(operator, x)(x, a, b)

    return stub


def _taaa(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]

    def stub(x=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((x, a, b, c), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(2, b)
        if c is not c_default and type(c) is not c_kind and type(c) is not c_other:
            c = to_c(3, c)
        return find1(operator, x)(x, a, b, c)

    return stub


def _taaaa(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]
    d_default, d_kind, d_other, to_d = checks[3]

    def stub(x=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, d=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((x, a, b, c, d), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(2, b)
        if c is not c_default and type(c) is not c_kind and type(c) is not c_other:
            c = to_c(3, c)
        if d is not d_default and type(d) is not d_kind and type(d) is not d_other:
            d = to_d(4, d)
        return find1(operator, x)(x, a, b, c, d)

    return stub


def _ttaa(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]

    def stub(x=NOT_GIVEN, y=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((x, y, a, b), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(2, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(3, b)
        return find2(operator, x, y)(x, y, a, b)

    return stub


def _ttt(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    def stub(x=NOT_GIVEN, y=NOT_GIVEN, z=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((x, y, z), named)
        return find3(operator, x, y, z)(x, y, z)

    return stub


def _ttta(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]

    def stub(x=NOT_GIVEN, y=NOT_GIVEN, z=NOT_GIVEN, a=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((x, y, z, a), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(3, a)
        return find3(operator, x, y, z)(x, y, z, a)

    return stub


def _tttaa(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]

    def stub(x=NOT_GIVEN, y=NOT_GIVEN, z=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((x, y, z, a, b), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(3, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(4, b)
        return find3(operator, x, y, z)(x, y, z, a, b)

    return stub


def _at(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]

    def stub(a=NOT_GIVEN, x=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((a, x), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(0, a)
        return find1(operator, x)(a, x)

    return stub


def _taaaaa(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]
    d_default, d_kind, d_other, to_d = checks[3]
    e_default, e_kind, e_other, to_e = checks[4]

    def stub(x=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, d=NOT_GIVEN, e=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((x, a, b, c, d, e), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(2, b)
        if c is not c_default and type(c) is not c_kind and type(c) is not c_other:
            c = to_c(3, c)
        if d is not d_default and type(d) is not d_kind and type(d) is not d_other:
            d = to_d(4, d)
        if e is not e_default and type(e) is not e_kind and type(e) is not e_other:
            e = to_e(5, e)
        return find1(operator, x)(x, a, b, c, d, e)

    return stub


def _taaaaaa(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]
    d_default, d_kind, d_other, to_d = checks[3]
    e_default, e_kind, e_other, to_e = checks[4]
    f_default, f_kind, f_other, to_f = checks[5]

    def stub(x=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, d=NOT_GIVEN, e=NOT_GIVEN, f=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((x, a, b, c, d, e, f), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(2, b)
        if c is not c_default and type(c) is not c_kind and type(c) is not c_other:
            c = to_c(3, c)
        if d is not d_default and type(d) is not d_kind and type(d) is not d_other:
            d = to_d(4, d)
        if e is not e_default and type(e) is not e_kind and type(e) is not e_other:
            e = to_e(5, e)
        if f is not f_default and type(f) is not f_kind and type(f) is not f_other:
            f = to_f(6, f)
        return find1(operator, x)(x, a, b, c, d, e, f)

    return stub


def _ttaaa(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]

    def stub(x=NOT_GIVEN, y=NOT_GIVEN, a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((x, y, a, b, c), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(2, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(3, b)
        if c is not c_default and type(c) is not c_kind and type(c) is not c_other:
            c = to_c(4, c)
        return find2(operator, x, y)(x, y, a, b, c)

    return stub


def _aaaaaa(callee: Overloaded | Operator, operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]
    d_default, d_kind, d_other, to_d = checks[3]
    e_default, e_kind, e_other, to_e = checks[4]
    f_default, f_kind, f_other, to_f = checks[5]

    def stub(a=NOT_GIVEN, b=NOT_GIVEN, c=NOT_GIVEN, d=NOT_GIVEN, e=NOT_GIVEN, f=NOT_GIVEN, **named):  # type: ignore[no-untyped-def]
        if named:
            return callee.call_given((a, b, c, d, e, f), named)
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(0, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(1, b)
        if c is not c_default and type(c) is not c_kind and type(c) is not c_other:
            c = to_c(2, c)
        if d is not d_default and type(d) is not d_kind and type(d) is not d_other:
            d = to_d(3, d)
        if e is not e_default and type(e) is not e_kind and type(e) is not e_other:
            e = to_e(4, e)
        if f is not f_default and type(f) is not f_kind and type(f) is not f_other:
            f = to_f(5, f)
        return find0(operator)(a, b, c, d, e, f)

    return stub


NAMED: Final[dict[str, Any]] = {
    "Taa": _taa,
    "Taaa": _taaa,
    "Taaaa": _taaaa,
    "TTaa": _ttaa,
    "TTT": _ttt,
    "TTTa": _ttta,
    "TTTaa": _tttaa,
    "aT": _at,
    "Taaaaa": _taaaaa,
    "Taaaaaa": _taaaaaa,
    "TTaaa": _ttaaa,
    "aaaaaa": _aaaaaa,
}
