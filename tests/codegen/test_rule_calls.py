"""Rules called wrongly in `meta`: every mistake is a SchemaError at its place, with a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.errors import SchemaError, SchemaErrors

ENTRY = """\
- func: f(Tensor self, Tensor other, float p, SymInt n, int? m=None) -> Tensor
  meta: {meta}
  dispatch:
    CPU: xp.sin(self)
"""


def found_in(meta: str, folder: Path) -> SchemaError:
    path = folder / "ops.yaml"
    path.write_text(ENTRY.format(meta=repr(meta)), encoding="utf-8")
    inputs = Inputs(folder, (path,), namespace="aten", kernels=("opwright_kernels",), rules=("opwright.rules",))
    with pytest.raises(SchemaErrors) as raised:
        declare(inputs)
    assert len(raised.value.errors) == 1
    return raised.value.errors[0]


@pytest.mark.parametrize(
    "meta, code, message, under, hint",
    [
        ("nosuch(self)", "unknown-name", "aten::f has no 'nosuch' to use here", "nosuch", "known here: self, "),
        ("_known(self)", "unknown-name", "aten::f has no '_known' to use here", "_known", "known here"),
        ("pointwise(self), like(self)", "meta-count", "has 1 outputs, and 'meta' 2 formulas", None, "one formula"),
        ("empty([2.5])", "size-integer", "'size' takes integers, and 2.5 is a float", "2.5", None),
        ("empty([n, True])", "size-integer", "'size' takes integers, and True is a bool", "True", None),
        ("empty([self.shape[0] / 2])", "size-integer", "a quotient is a float", "self.shape[0] / 2", "divide with //"),
        ("empty([n + self])", "size-integer", "'self' is declared Tensor", "self", None),
        ("empty([n if p else p])", "size-integer", "'p' is declared float", "p]", None),
        ("empty([inf])", "size-integer", "inf is none", "inf", None),
        ("empty('ab')", "size-integer", "'ab' is a str", "", None),
        ("empty(None)", "size-integer", "this is None", "None", None),
        ("reduce(self, dim=1.5)", "size-integer", "'dim' takes integers, and 1.5 is a float", "1.5", None),
        ("pointwise(self, knd=1)", "rule-arguments", "pointwise() has no parameter 'knd'", "1", "did you mean 'kind'?"),
        ("reduce(self, 1, dim=2)", "rule-arguments", "reduce() gets 'dim' by position and by name", "2", None),
        ("reduce()", "rule-arguments", "reduce() misses 'self'", "reduce()", "it takes: self, dim, keepdim"),
        ("like(self, other)", "rule-arguments", "like() takes 1 positional argument, and 2 are given", "other", None),
        ("pointwise(self, kind='bol')", "rule-word", "'bol' is not known for 'kind'", "", "did you mean 'bool'?"),
        ("pointwise(self, accepts='flaoting')", "rule-word", "'flaoting' is not known", "", "did you mean 'floating'?"),
        ("gufunc('(n!)->()', self)", "core-dimensions", "is no signature of core dimensions", "", "n? and n|1"),
        (
            "gufunc('(n)->(n/2)', self)",
            "core-dimensions",
            "is no signature of core dimensions",
            "",
            "sizes such as n+1",
        ),
        ("gufunc('(n)->(f(n))', self)", "core-dimensions", "is no signature of core dimensions", "", "as in"),
        (
            "gufunc('(a)->(b+1)', self)",
            "core-dimensions",
            "no operand has the size 'b' of the result",
            "",
            "say it: b=",
        ),
        ("gufunc('(a)->(b)', self, b=a/2)", "core-dimensions", "names and whole numbers", "a/2", "as in: p="),
        ("gufunc('(a)->(b)', self, b=2.5)", "size-integer", "'b' takes integers, and 2.5 is a float", "2.5", None),
        ("gufunc('(a)->(b)', self, b=p)", "size-integer", "'p' is declared float", "p)", None),
        ("gufunc('(a)->(a)', self, dtpe=1)", "rule-arguments", "has no parameter 'dtpe'", "1", "did you mean 'dtype'?"),
        ("gufunc('(a)->(b)', self, b=a+q)", "unknown-name", "has no 'q' to use here", "q", None),
        ("gufunc('(m,k),(k,n->(m)', self)", "core-dimensions", "is no signature of core dimensions", "", "as in"),
        ("gufunc('(m)->(q)', self)", "core-dimensions", "no operand has the size 'q' of the result", "", None),
        ("gufunc('(m),(n)->(m)', self)", "core-dimensions", "the signature has 2 operands, and 1 is given", "", None),
    ],
)
def test_a_bad_call_is_an_error_with_a_caret(
    meta: str, code: str, message: str, under: str | None, hint: str | None, tmp_path: Path
) -> None:
    error = found_in(meta, tmp_path)
    assert error.code == code
    assert message in error.message
    assert error.span is not None and error.span.line == 2
    if under:
        start = ENTRY.format(meta=repr(meta)).splitlines()[1].rindex(under)
        assert error.span.column == start + 1
    if hint is not None:
        assert error.hint is not None and hint in error.hint


@pytest.mark.parametrize(
    "meta",
    [
        "empty([n, m, 2 * n // 3])",
        "empty([n if m is None else m])",
        "reduce(self, m, True)",
        "pointwise(self, other, kind='bool' if p else 'default')",
        "gufunc('(m, k), (k, n) -> (m, n)', self, other)",
        "gufunc('(),()->()', self, other)",
        "gufunc('(a?,3),(3,b|1)->(a?, a*(b-1) // 2)', self, other)",
        "gufunc('(a,b)->(c)', self, c=a*(a-1)//2)",
        "gufunc('(a,b)->(c, d)', self, c=-a + n, d=c % 2, dtype=float32)",
        "gufunc('(a,b)->(b, c)', self, c=self.shape[0] + n)",
        "sized([self.shape[0] - 1, n], self, other)",
        "sized(n, self, dtype=float32, accepts='floating')",
    ],
)
def test_a_good_call_is_none(meta: str, tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception):
        found_in(meta, tmp_path)
