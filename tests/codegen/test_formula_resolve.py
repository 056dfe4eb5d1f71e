"""What names in formulas stand for, and what formulas use."""

from __future__ import annotations

import pytest
from formula_samples import text_of

from opwright_codegen.errors import SchemaError, SchemaErrors
from opwright_codegen.formula.ast import Kind, Reference, walk
from opwright_codegen.formula.emit import Spelling, emit
from opwright_codegen.formula.parser import parse
from opwright_codegen.formula.resolve import Scope, resolve, uses
from opwright_codegen.schema.model import FunctionSchema

ADD = FunctionSchema.parse("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
RANDOM = FunctionSchema.parse("aten::random.from(Tensor self, int from, int? to) -> Tensor")
TOPK = FunctionSchema.parse("aten::topk(Tensor self, int k) -> (Tensor values, Tensor indices)")


def kinds(text: str, scope: Scope) -> dict[str, Kind]:
    return {n.name: n.kind for n in walk(resolve(parse(text_of(text)), scope)) if isinstance(n, Reference)}


def test_a_kernel_sees_arguments_and_the_array_module() -> None:
    assert kinds("xp.add(self, other, dtype=float32)", Scope.for_kernel(ADD)) == {
        "xp": Kind.MODULE,
        "self": Kind.ARGUMENT,
        "other": Kind.ARGUMENT,
        "float32": Kind.DTYPE,
    }


def test_meta_sees_rules() -> None:
    scope = Scope.for_meta(ADD, {"pointwise", "reduce"})
    assert kinds("pointwise(self, len(other.shape), inf)", scope) == {
        "pointwise": Kind.RULE,
        "self": Kind.ARGUMENT,
        "len": Kind.BUILTIN,
        "other": Kind.ARGUMENT,
        "inf": Kind.CONSTANT,
    }


def test_a_composite_sees_operators_before_builtins() -> None:
    assert kinds("sum(mul(self, other))", Scope.for_composite(ADD, {"sum", "mul"})) == {
        "sum": Kind.OPERATOR,
        "mul": Kind.OPERATOR,
        "self": Kind.ARGUMENT,
        "other": Kind.ARGUMENT,
    }


def test_a_derivative_sees_gradients_and_results() -> None:
    text = "f(grad, grads[1], grad_values, grad_indices, values, indices, grad_input_mask[0])"
    found = kinds(text, Scope.for_derivative(TOPK, {"f"}))
    assert [name for name, kind in found.items() if kind is Kind.GRAD] == [
        "grad",
        "grads",
        "grad_values",
        "grad_indices",
    ]
    assert [name for name, kind in found.items() if kind is Kind.RESULT] == ["values", "indices"]
    assert found["grad_input_mask"] is Kind.MASK
    assert kinds("result", Scope.for_derivative(ADD, ())) == {"result": Kind.RESULT}
    with pytest.raises(SchemaError):
        kinds("result", Scope.for_derivative(TOPK, ()))
    with pytest.raises(SchemaError):
        kinds("grad_indices", Scope.for_derivative(TOPK, (), outputs=[0]))


def test_a_forward_formula_sees_primals_and_tangents() -> None:
    found = kinds("self_t + alpha * other_t * self_p", Scope.for_forward(ADD, ["self", "other"], ()))
    assert found == {
        "self_t": Kind.TANGENT,
        "alpha": Kind.ARGUMENT,
        "other_t": Kind.TANGENT,
        "self_p": Kind.PRIMAL,
    }
    with pytest.raises(SchemaError):
        kinds("self", Scope.for_forward(ADD, ["self"], ()))


def test_arguments_hide_everything_else() -> None:
    schema = FunctionSchema.parse("x::f(Tensor xp, Tensor sum, Tensor grad) -> Tensor")
    assert set(kinds("xp + sum", Scope.for_kernel(schema)).values()) == {Kind.ARGUMENT}
    assert kinds("grad", Scope.for_derivative(schema, {"sum"})) == {"grad": Kind.ARGUMENT}


@pytest.mark.parametrize("text", ["from + 1", "from_ + 1"])
def test_arguments_named_by_keywords(text: str) -> None:
    resolved = resolve(parse(text_of(text)), Scope.for_kernel(RANDOM))
    assert emit(resolved) == "from_ + 1"
    assert kinds(text, Scope.for_kernel(RANDOM)) == {"from": Kind.ARGUMENT}


@pytest.mark.parametrize(
    ("text", "name", "hint"),
    [
        ("xp.sin(slef)", "slef", "did you mean 'self'?"),
        ("np.sin(self)", "np", "the array module is called xp, so that one formula serves NumPy and CuPy"),
        ("self if true else other", "true", "write True"),
        ("lambda + 1", "lambda", "formulas have no lambda"),
        ("eval(self)", "eval", None),
        ("print", "print", None),
    ],
)
def test_unknown_names(text: str, name: str, hint: str | None) -> None:
    with pytest.raises(SchemaErrors) as caught:
        resolve(parse(text_of(text)), Scope.for_kernel(ADD))
    (error,) = caught.value.errors
    assert error.code == "unknown-name"
    assert error.message == f"aten::add.Tensor has no {name!r} to use here"
    assert error.span is not None
    assert error.span.text == name
    if hint:
        assert error.hint == hint


def test_all_unknown_names_are_reported() -> None:
    with pytest.raises(SchemaErrors) as caught:
        resolve(parse(text_of("poinwise(slef, other)")), Scope.for_meta(ADD, {"pointwise"}))
    assert [error.hint for error in caught.value.errors] == ["did you mean 'pointwise'?", "did you mean 'self'?"]


def test_spelling() -> None:
    formula = resolve(parse(text_of("xp.add(self, other[0], dtype=bool) * pi")), Scope.for_kernel(ADD))
    spelling = Spelling(xp="np", arguments={"self": "self_", "other": "other.array"})
    assert emit(formula, spelling) == "np.add(self_, other.array[0], dtype=dtypes.bool) * math.pi"
    composite = resolve(parse(text_of("sum(mul(self, other), max(1, 2))")), Scope.for_composite(ADD, {"sum", "mul"}))
    assert emit(composite, Spelling(operator="ops.", builtin="builtins.")) == (
        "ops.sum(ops.mul(self, other), builtins.max(1, 2))"
    )


def test_uses_tell_properties_from_whole_arguments() -> None:
    formula = resolve(
        parse(text_of("f(grad, self.shape, self.size(0), other, other.dtype, result)")),
        Scope.for_derivative(ADD, {"f"}),
    )
    assert [(use.reference.name, use.attribute) for use in uses(formula)] == [
        ("f", None),
        ("grad", None),
        ("self", "shape"),
        ("self", "size"),
        ("other", None),
        ("other", "dtype"),
        ("result", None),
    ]
