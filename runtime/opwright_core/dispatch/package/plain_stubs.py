"""Closures of stubs of single overloads, a maker for each shape (Note [Stubs by shape] in `stub_rows`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opwright_core.dispatch.call.lookup import find0, find1, find2, find3

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.package.stub_rows import Check, Function

__all__ = ["PLAIN"]


def _t(operator: Operator, *checks: Check) -> Function:
    def stub(x):  # type: ignore[no-untyped-def]
        return find1(operator, x)(x)

    return stub


def _ta(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]

    def stub(x, a):  # type: ignore[no-untyped-def]
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        return find1(operator, x)(x, a)

    return stub


def _taa(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]

    def stub(x, a, b):  # type: ignore[no-untyped-def]
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(2, b)
        return find1(operator, x)(x, a, b)

    return stub


def _taaa(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]

    def stub(x, a, b, c):  # type: ignore[no-untyped-def]
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(1, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(2, b)
        if c is not c_default and type(c) is not c_kind and type(c) is not c_other:
            c = to_c(3, c)
        return find1(operator, x)(x, a, b, c)

    return stub


def _taaaa(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]
    d_default, d_kind, d_other, to_d = checks[3]

    def stub(x, a, b, c, d):  # type: ignore[no-untyped-def]
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


def _tt(operator: Operator, *checks: Check) -> Function:
    def stub(x, y):  # type: ignore[no-untyped-def]
        return find2(operator, x, y)(x, y)

    return stub


def _tta(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]

    def stub(x, y, a):  # type: ignore[no-untyped-def]
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(2, a)
        return find2(operator, x, y)(x, y, a)

    return stub


def _ttaa(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]

    def stub(x, y, a, b):  # type: ignore[no-untyped-def]
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(2, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(3, b)
        return find2(operator, x, y)(x, y, a, b)

    return stub


def _ttt(operator: Operator, *checks: Check) -> Function:
    def stub(x, y, z):  # type: ignore[no-untyped-def]
        return find3(operator, x, y, z)(x, y, z)

    return stub


def _at(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]

    def stub(a, x):  # type: ignore[no-untyped-def]
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(0, a)
        return find1(operator, x)(a, x)

    return stub


def _taaaaa(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]
    d_default, d_kind, d_other, to_d = checks[3]
    e_default, e_kind, e_other, to_e = checks[4]

    def stub(x, a, b, c, d, e):  # type: ignore[no-untyped-def]
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


def _taaaaaa(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]
    d_default, d_kind, d_other, to_d = checks[3]
    e_default, e_kind, e_other, to_e = checks[4]
    f_default, f_kind, f_other, to_f = checks[5]

    def stub(x, a, b, c, d, e, f):  # type: ignore[no-untyped-def]
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


def _ttaaa(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]

    def stub(x, y, a, b, c):  # type: ignore[no-untyped-def]
        if a is not a_default and type(a) is not a_kind and type(a) is not a_other:
            a = to_a(2, a)
        if b is not b_default and type(b) is not b_kind and type(b) is not b_other:
            b = to_b(3, b)
        if c is not c_default and type(c) is not c_kind and type(c) is not c_other:
            c = to_c(4, c)
        return find2(operator, x, y)(x, y, a, b, c)

    return stub


def _aaaaa(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]
    d_default, d_kind, d_other, to_d = checks[3]
    e_default, e_kind, e_other, to_e = checks[4]

    def stub(a, b, c, d, e):  # type: ignore[no-untyped-def]
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
        return find0(operator)(a, b, c, d, e)

    return stub


def _aaaaaa(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]
    d_default, d_kind, d_other, to_d = checks[3]
    e_default, e_kind, e_other, to_e = checks[4]
    f_default, f_kind, f_other, to_f = checks[5]

    def stub(a, b, c, d, e, f):  # type: ignore[no-untyped-def]
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


def _aaaaaaa(operator: Operator, *checks: Check) -> Function:
    a_default, a_kind, a_other, to_a = checks[0]
    b_default, b_kind, b_other, to_b = checks[1]
    c_default, c_kind, c_other, to_c = checks[2]
    d_default, d_kind, d_other, to_d = checks[3]
    e_default, e_kind, e_other, to_e = checks[4]
    f_default, f_kind, f_other, to_f = checks[5]
    g_default, g_kind, g_other, to_g = checks[6]

    def stub(a, b, c, d, e, f, g):  # type: ignore[no-untyped-def]
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
        if g is not g_default and type(g) is not g_kind and type(g) is not g_other:
            g = to_g(6, g)
        return find0(operator)(a, b, c, d, e, f, g)

    return stub


PLAIN: Final[dict[str, Any]] = {
    "T": _t,
    "Ta": _ta,
    "Taa": _taa,
    "Taaa": _taaa,
    "Taaaa": _taaaa,
    "TT": _tt,
    "TTa": _tta,
    "TTaa": _ttaa,
    "TTT": _ttt,
    "aT": _at,
    "Taaaaa": _taaaaa,
    "Taaaaaa": _taaaaaa,
    "TTaaa": _ttaaa,
    "aaaaa": _aaaaa,
    "aaaaaa": _aaaaaa,
    "aaaaaaa": _aaaaaaa,
}
