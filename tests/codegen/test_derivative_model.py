"""Entries of derivatives.yaml to what they mean: what is saved, which gradients are used, forward formulas."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright_codegen.derivatives.derivative import DerivativeSet, Differentiability, ForwardKind
from opwright_codegen.derivatives.files import read_derivatives_text
from opwright_codegen.formula.ast import Kind, Reference, walk
from opwright_codegen.formula.emit import emit
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.files import read_text

SCHEMAS = """
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  variants: function, method
  dispatch: {CPU: mul}
- func: exp(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: exp}
- func: conj(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: conj}
- func: sum.dim(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  variants: function, method
  dispatch: {CPU: sum}
- func: expand(Tensor(a) self, int[] size) -> Tensor(a)
  variants: function, method
  dispatch: {CPU: expand}
- func: three(Tensor self, Tensor idx) -> (Tensor x, int y, Tensor z)
  dispatch: {CPU: three}
- func: cat(Tensor[] tensors, int dim=0) -> Tensor
  dispatch: {CPU: cat}
"""
FUNCTIONS = """
def shapes_of(tensors): ...
def cut(grad, shapes, dim): ...
"""


@pytest.fixture
def functions(tmp_path: Path) -> KernelModules:
    (tmp_path / "backward.py").write_text(FUNCTIONS)
    return KernelModules(["backward"], [tmp_path], of="backward function")


def read(text: str, functions: KernelModules) -> DerivativeSet:
    return read_derivatives_text(text, read_text(SCHEMAS), functions)


def only(text: str, functions: KernelModules) -> Differentiability:
    (by_key,) = read(text, functions).entries.values()
    return by_key["Default"]


MUL = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
SUM = "- name: sum.dim(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n"
THREE = "- name: three(Tensor self, Tensor idx) -> (Tensor x, int y, Tensor z)\n"


def test_each_formula_saves_what_it_names(functions: KernelModules) -> None:
    found = only(f"{MUL}  self: grad * other\n  other: grad * self\n", functions)
    assert [[saved.name for saved in derivative.saved_inputs] for derivative in found.derivatives] == [
        ["other"],
        ["self"],
    ]
    assert [saved.name for saved in found.saved_inputs] == ["other", "self"]
    assert found.differentiable_inputs == ("self", "other")
    assert found.differentiable_outputs == (0,)


def test_a_result_is_saved_instead(functions: KernelModules) -> None:
    (derivative,) = only("- name: exp(Tensor self) -> Tensor\n  self: grad * result\n", functions).derivatives
    assert derivative.saved_inputs == ()
    assert [saved.name for saved in derivative.saved_outputs] == ["result"]


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("grad.expand(self.shape)", ["self_shape"]),
        ("grad.expand([self.shape[0], self.shape[-1]])", ["self_shape_0", "self_shape_minus_1"]),
        ("grad.expand([self.shape[dim]])", ["self_shape_dim"]),
        ("grad * self.ndim * self.numel()", ["self_ndim", "self_numel"]),
        ("grad.expand(self.shape[-2:])", ["self_shape"]),
        ("grad * self + self.shape[0]", ["self", "self_shape_0"]),
        ("grad if keepdim else grad.expand(self.stride())", ["keepdim", "self_stride"]),
        ("self.exp().shape", ["self"]),
    ],
)  # fmt: skip
def test_a_fact_is_saved_instead_of_the_tensor(formula: str, names: list[str], functions: KernelModules) -> None:
    (derivative,) = only(f"{SUM}  self: {formula}\n", functions).derivatives
    assert sorted(saved.name for saved in derivative.saved_inputs) == sorted(names)
    assert derivative.formula is not None
    references = [node for node in walk(derivative.formula) if isinstance(node, Reference)]
    assert {node.name for node in references if node.kind is Kind.SAVED} == {n for n in names if "_" in n}
    for saved in derivative.saved_inputs:
        if saved.fact is not None:
            assert not isinstance(saved.fact, str)
            assert emit(saved.fact) in formula


def test_facts_of_lists(functions: KernelModules) -> None:
    text = "- name: cat(Tensor[] tensors, int dim=0) -> Tensor\n  tensors: cut(grad, shapes_of(tensors), dim)\n"
    (derivative,) = only(text, functions).derivatives
    assert [saved.name for saved in derivative.saved_inputs] == ["tensors_shapes", "dim"]
    assert derivative.formula is not None
    assert emit(derivative.formula) == "cut(grad, tensors_shapes, dim)"


def test_gradients_of_several_outputs(functions: KernelModules) -> None:
    found = only(f"{THREE}  self: grad_x + grad_z\n  idx: non_differentiable\n", functions)
    assert found.non_differentiable == ("idx",)
    assert found.derivatives[0].gradients == (0, 2)
    assert found.differentiable_outputs == (0, 2)
    numbered = only(f"{THREE}  self: grads[1] + grads[0]\n", functions)
    assert numbered.derivatives[0].gradients == (0, 2)
    last = only(f"{THREE}  output_differentiability: [False, False, True]\n  self: grad_z\n", functions)
    assert last.derivatives[0].gradients == (2,)
    first = only(f"{THREE}  self: grad\n", functions)
    assert (first.derivatives[0].gradients, first.differentiable_outputs) == ((0,), (0,))


def test_joint_formulas(functions: KernelModules) -> None:
    (derivative,) = only(f"{MUL}  self, other: cut(grad, self, grad_input_mask)\n", functions).derivatives
    assert derivative.inputs == ("self", "other")
    assert derivative.uses_mask


def test_forward_formulas(functions: KernelModules) -> None:
    text = f"{MUL}  self: grad * other\n  other: grad * self\n  result: self_t * other_p + result\n"
    (forward,) = only(text, functions).forward
    assert (forward.kind, forward.tangents, forward.primals) == (ForwardKind.WRITTEN, ("self",), ("other",))
    assert forward.results == ("result",)


def test_auto_linear(functions: KernelModules) -> None:
    (forward,) = only(f"{SUM}  self: grad\n  result: auto_linear\n", functions).forward
    assert forward.formula is not None
    assert emit(forward.formula) == "sum.dim(self_t, dim, keepdim, dtype=dtype)"
    assert (forward.tangents, forward.primals) == (("self",), ())


def test_auto_element_wise(functions: KernelModules) -> None:
    text = "- name: exp(Tensor self) -> Tensor\n  self: grad * (self * result).conj()\n  result: auto_element_wise\n"
    (forward,) = only(text, functions).forward
    assert forward.formula is not None
    assert emit(forward.formula) == "(self_t.conj() * (self_p * result).conj()).conj()"
    assert (forward.tangents, forward.primals, forward.results) == (("self",), ("self",), ("result",))


def test_not_implemented(functions: KernelModules) -> None:
    found = only('- name: exp(Tensor self) -> Tensor\n  self: not_implemented("later")\n', functions)
    assert found.derivatives[0].reason == "later"


def test_conditions(functions: KernelModules) -> None:
    found = only(f'{SUM}  output_differentiability: ["dtype is None"]\n  self: grad\n', functions)
    assert found.condition is not None
    assert found.condition.text == "dtype is None"
    assert found.output_differentiability == (True,)


def test_keys(functions: KernelModules) -> None:
    text = (
        "- name: exp(Tensor self) -> Tensor\n  dispatch:\n    Default:\n      self: grad\n    AutogradNestedTensor:\n"
    )
    found = read(f"{text}      self: grad * self\n", functions)
    nested = found.find("aten::exp", "AutogradNestedTensor")
    default = found.find("aten::exp", "AutogradCPU")
    assert nested is not None and default is not None
    assert [saved.name for saved in nested.saved_inputs] == ["self"]
    assert default.saved_inputs == ()
    assert found.find("aten::cat") is None
