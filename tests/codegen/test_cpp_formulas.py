"""Formulas of PyTorch's derivatives.yaml, which are C++: what they are in our language, and what is said of others."""

from __future__ import annotations

import pytest
import seeds

from opwright_codegen.derivatives.cpp import parse_cpp
from opwright_codegen.derivatives.derivative import DerivativeSet
from opwright_codegen.derivatives.files import read_derivatives_text
from opwright_codegen.errors import SchemaError, SchemaErrors
from opwright_codegen.formula.emit import emit
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.files import read_text
from opwright_codegen.source import Source, Text

READ = {
    "a ? b : c ? d : e": "b if a else d if c else e",
    "a && !b || c": "a and not b or c",
    "x->sym_sizes()": "x.sym_sizes()",
    "{a, {}}": "[a, []]",
    "std::get<0>(f(x))": "f(x)[0]",
    "at::native::where(a, b)": "where(a, b)",
    "std::tuple<Tensor, Tensor>()": "(None, None)",
    "std::vector<c10::SymInt>(n, 0)": "[0] * n",
    "std::optional<Tensor>(x)": "x",
    "std::optional<Tensor>()": "None",
    "Tensor()": "None",
    "f(/* a word= */ true, 2.f, 1., 1e-3)": "f(True, 2.0, 1.0, 0.001)",
    "a & b == c": "a & (b == c)",
    "a < b | c": "(a < b) | c",
    "-x * y[1]": "-x * y[1]",
    "at::Reduction::None": "0",
    "*dtype": "dtype",
}

SCHEMAS = """
- func: mine(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  variants: function, method
  dispatch: {CPU: mine}
- func: pair(Tensor[] tensors, int[] dims, float? p=None) -> Tensor
  dispatch: {CPU: pair}
- func: zeros(SymInt[] size) -> Tensor
  dispatch: {CPU: zeros}
- func: reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)
  variants: method
  dispatch: {CPU: reshape}
- func: conj(Tensor self) -> Tensor
  variants: method
  dispatch: {CPU: conj}
- func: new_zeros(Tensor self, SymInt[] size) -> Tensor
  variants: method
  dispatch: {CPU: new_zeros}
- func: where(Tensor self, Tensor a, Tensor b) -> Tensor
  dispatch: {CPU: where}
"""
TRANSLATED = {
    "handle_r_to_c(self.scalar_type(), maybe_multiply(grad, alpha.conj()))": "scaled(grad, alpha.conjugate())",
    "grad.defined() ? mul_tensor_backward(grad, other, self.scalar_type()) : Tensor()": (
        "grad * other.conj() if grad is not None else None"
    ),
    "mul_tensor_backward(grad, alpha, self.scalar_type())": "grad * alpha.conjugate()",
    "grad.reshape_symint(self.sym_sizes())": "grad.reshape(self_shape)",
    "GradMode::is_enabled() ? infinitely(grad) : grad * self.sym_size(-1)": "grad * self_shape_minus_1",
    "at::zeros({}, grad.options())": "grad.new_zeros([])",
    "grad * M_PI": "grad * pi",
}


def language(text: str, *, is_lax: bool = False) -> DerivativeSet:
    """Read one entry, beside one that shows that the file is PyTorch's."""
    operators = read_text(SCHEMAS)
    file = f"# self.sym_sizes()\n- name: mine(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n  self: {text}\n"
    modules = KernelModules(["opwright_kernels.gradients"], of="backward function")
    return read_derivatives_text(file, operators, modules, is_lax=is_lax)


@pytest.mark.parametrize("text", READ)
def test_what_an_expression_is(text: str) -> None:
    assert emit(parse_cpp(Text(text, Source("<text>", text).whole()))) == READ[text]


@pytest.mark.parametrize("text", TRANSLATED)
def test_names_of_pytorch_mean_what_they_mean_here(text: str) -> None:
    (derivative,) = language(f"'{text}'").entries["aten::mine"]["Default"].derivatives
    assert derivative.formula is not None
    assert emit(derivative.formula) == TRANSLATED[text]


def test_a_function_without_a_counterpart_is_one_line_with_its_place() -> None:
    with pytest.raises(SchemaErrors) as caught:
        language("grad * nothing_like_it(self) + (other * std::pair_of(grad))")
    first, second = caught.value.errors
    assert str(first) == (
        "<text>:3:16: error: aten::mine: the C++ function 'nothing_like_it' has no counterpart [unknown-name]\n"
        "      self: grad * nothing_like_it(self) + (other * std::pair_of(grad))\n"
        "                   ^^^^^^^^^^^^^^^\n"
        "hint: write nothing_like_it as a Python function over operators, in a module of 'gradients' of [tool.opwright]"
    )
    assert "pair_of" in second.message


def test_a_function_of_our_own_is_not_taken_for_one_of_pytorch() -> None:
    """`std_backward` has the same name in both, with arguments in another order: of five there is none."""
    with pytest.raises(SchemaErrors, match="'std_backward' of 2 arguments has no counterpart, of 6 it has"):
        language("std_backward(grad, self)")


def test_what_is_no_expression_says_where() -> None:
    with pytest.raises(SchemaErrors) as caught:
        language("'fmap(self, [](int i){return -i;})'")
    (error,) = caught.value.errors
    assert str(error.span) == "<text>:3:21"
    assert "unexpected" in error.message


def test_entries_without_counterparts_are_left_out_where_that_is_asked_for() -> None:
    found = language("nothing_like_it(self)", is_lax=True)
    assert found.entries == {}
    assert [error.message for error in found.left_out] == [
        "aten::mine: the C++ function 'nothing_like_it' has no counterpart"
    ]


def test_broken_formulas_are_errors_with_positions() -> None:
    draw = seeds.generator("formulas in C++")
    pieces = [
        *READ,
        *TRANSLATED,
        "(" * 300,
        "-" * 300,
        "::",
        "?",
        ":",
        "{",
        "}",
        "<",
        "std::get<",
        "0x",
        "'",
        '"',
        "99" * 30,
    ]
    for _ in range(2_000):
        text = "".join(draw.choice(pieces) for _ in range(draw.randint(1, 4)))
        cut = text[draw.randint(0, 3) : len(text) - draw.randint(0, 3)]
        try:
            emit(parse_cpp(Text(cut, Source("<text>", cut).whole())))
        except SchemaError as error:
            assert error.span is not None
