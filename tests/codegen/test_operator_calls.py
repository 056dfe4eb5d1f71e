"""Calls of operators in formulas of composites and derivatives: refused where no overload takes them."""

from __future__ import annotations

import pytest
from formula_samples import text_of

from opwright_codegen.errors import SchemaErrors
from opwright_codegen.formula.operator_calls import check_operator_calls
from opwright_codegen.formula.parser import parse
from opwright_codegen.formula.resolve import Scope, resolve
from opwright_codegen.schema.model import FunctionSchema

pytestmark = pytest.mark.once

SCHEMAS = {
    "smooth": ["f::smooth(Tensor x, float rate=0.9) -> Tensor", "f::smooth.out(Tensor x, *, Tensor(a!) out) -> Tensor"],
    "window": ["f::window(Tensor x, Tensor? taper=None, *, float gain) -> Tensor"],
    "view": ["f::view(Tensor x, int[] size) -> Tensor"],
    "draw": ["f::draw(Tensor x, *, int from=0) -> Tensor"],
    "foreign": [],
}
TAKEN = (
    *(
        "smooth(x)",
        "smooth(x, 0.5)",
        "smooth(x=x, rate=1)",
        "smooth(x, out=x)",
        "window(x, gain=1)",
        "view(x, 1, 2, 3)",
    ),
    *("window(x, x, gain=1)", "draw(x, from_=1)", "foreign(x, 1, 2, three=3)"),
)
REFUSED = (
    *("smooth()", "smooth(x, 0.5, 3)", "smooth(x, rte=1)", "window(x)", "window(x, x, x, gain=1)", "view(x)"),
    *("smooth(x, x, out=x)", "smooth(smooth(x, 1, 2))"),
)


def check(formula: str) -> None:
    operators = {name: [FunctionSchema.parse(text) for text in texts] for name, texts in SCHEMAS.items()}
    schema = FunctionSchema.parse("f::f(Tensor x) -> Tensor")
    resolved = resolve(parse(text_of(formula)), Scope.for_composite(schema, operators))
    check_operator_calls(resolved, operators, "kernel-arguments")


def test_calls_that_an_overload_takes() -> None:
    for formula in TAKEN:
        check(formula)


def test_calls_that_no_overload_takes() -> None:
    for formula in REFUSED:
        with pytest.raises(SchemaErrors) as caught:
            check(formula)
        (error,) = caught.value.errors
        assert error.code == "kernel-arguments", formula
        assert "takes other arguments than it is given" in error.message
        assert str(error.hint).startswith("it is declared "), formula
