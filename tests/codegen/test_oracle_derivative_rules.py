"""What torchgen refuses in derivatives.yaml we refuse, with a position; what it reads, we read alike."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from opwright_codegen.derivatives.derivative import Differentiability
from opwright_codegen.derivatives.files import read_derivatives_text
from opwright_codegen.errors import SchemaErrors
from opwright_codegen.read.files import read
from opwright_codegen.read.model import OperatorSet

torchgen = pytest.importorskip("torchgen", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

FOLDER = Path(torchgen.__file__).parent / "packaged" if hasattr(torchgen, "__file__") else Path()
NATIVE = FOLDER / "ATen" / "native"
ADD = "- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
SIN = "- name: sin(Tensor self) -> Tensor\n"
TOPK = (
    "- name: topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)"
    " -> (Tensor values, Tensor indices)\n"
)
SVD = (
    "- name: _linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None)"
    " -> (Tensor U, Tensor S, Tensor Vh)\n"
)
GATHER = "- name: gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor\n"
EXPAND = "- name: expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)\n"

READ = [
    f"{SIN}  self: grad * self.cos().conj()\n  result: auto_element_wise\n",
    f"{ADD}  self: handle_r_to_c(self.scalar_type(), grad)\n  other: grad * alpha\n  result: self_t + other_t\n",
    f"{TOPK}  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), true)\n",
    f"{TOPK}  output_differentiability: [True, False]\n  self: f(grad)\n",
    f"{SVD}  A: svd_backward(gU, grad_S, grad_Vh, U, S, Vh)\n".replace("gU", "grad_U"),
    f"{SVD}  output_differentiability: [False, True, True]\n  A: f(grad_S, grad_Vh)\n",
    f"{SVD}  A: f(grads[0], grads[1], grads[2])\n",
    f"{GATHER}  self: gather_backward(grad, self, dim, index, sparse_grad)\n  index: non_differentiable\n",
    f"{GATHER}  self: f(grad, self.sym_sizes(), self.dim(), self.options(), self.sym_size(dim))\n",
    f"{EXPAND}  self: at::sum_to(grad, self.sym_sizes())\n  result: auto_linear\n",
    f"{SIN}  dispatch:\n    Default:\n      self: grad\n    AutogradNestedTensor:\n      self: grad * self\n",
    f"{ADD}  output_differentiability: ['maybe(self)']\n  self: grad\n",
    f"{ADD}  self, other: f(grad, grad_input_mask)\n",
]
REFUSED = {
    "unknown variable": f"{SIN}  x: grad\n",
    "unknown operator": "- name: sinn(Tensor self) -> Tensor\n  self: grad\n",
    "another schema": "- name: sin(Tensor self, int x) -> Tensor\n  self: grad\n",
    "sizes": f"{SIN}  self: grad.expand(self.sizes())\n",
    "size": f"{EXPAND}  self: grad.sum(self.size(0))\n",
    "strides": f"{SIN}  self: grad.as_strided(self.strides())\n",
    "conditions of several": f"{TOPK}  output_differentiability: ['a', 'b']\n  self: grad\n",
    "linear in several outputs": f"{SVD}  A: f(grad_U, grad_S, grad_Vh)\n  U: auto_linear\n  S: auto_linear\n  Vh: x\n",
    "element-wise in two inputs": f"{ADD}  self: grad\n  other: grad\n  result: auto_element_wise\n",
    "an unknown key": f"{SIN}  dispatch:\n    Default:\n      self: grad\n    AutogradNothing:\n      self: grad\n",
    "grad and grads": f"{SVD}  A: f(grad, grads[1])\n",
    "grad and grad_NAME": f"{SVD}  A: f(grad, grad_S)\n",
    "the first of grads alone": f"{TOPK}  self: f(grads[0])\n",
}

# torchgen takes a number for a condition, and the last of two entries.
REFUSED_HERE = {
    "no boolean": f"{TOPK}  output_differentiability: [True, 3]\n  self: grad\n",
    "twice": f"{SIN}  self: grad\n{SIN}  self: grad\n",
}


@cache
def operators() -> OperatorSet:
    return read([NATIVE / "native_functions.yaml"], NATIVE / "tags.yaml")


@cache
def grouped() -> Any:
    """PyTorch's operators, grouped by torchgen: it would do that anew for each text."""
    from torchgen.gen import get_grouped_by_view_native_functions, parse_native_yaml

    parsed = parse_native_yaml(str(NATIVE / "native_functions.yaml"), str(NATIVE / "tags.yaml"))
    return get_grouped_by_view_native_functions(parsed.native_functions)


def theirs(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    from torchgen.packaged.autograd import load_derivatives as module

    monkeypatch.setattr(module, "get_grouped_by_view_native_functions", lambda _: grouped())
    path = folder / "derivatives.yaml"
    path.write_text(text)
    infos, _ = module.load_derivatives(str(path), str(NATIVE / "native_functions.yaml"), str(NATIVE / "tags.yaml"))
    return {str(schema.name): found for schema, found in infos.items()}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((name, by_key),) = read_derivatives_text(text, operators()).entries.items()
    infos = theirs(text, tmp_path, monkeypatch)[name.removeprefix("aten::")]
    assert set(by_key) == set(infos)
    for key, found in by_key.items():
        assert facts(found) == their_facts(infos[key])


def facts(found: Differentiability) -> dict[str, Any]:
    return {
        "inputs": sorted(derivative.inputs for derivative in found.derivatives),
        "without": sorted(found.non_differentiable),
        "saved": sorted(saved.name for saved in (*found.saved_inputs, *found.saved_outputs)),
        "names": sorted(name for d in found.derivatives for name in d.gradient_names if name.startswith("grad_")),
        "forward": [(f.outputs, sorted(f.tangents), sorted(f.primals)) for f in found.forward],
    }


def their_facts(info: Any) -> dict[str, Any]:
    def name_of(saved: Any) -> str:
        name = saved.nctype.name
        return name if isinstance(name, str) else name.name

    return {
        "inputs": sorted(derivative.var_names for derivative in info.derivatives),
        "without": sorted(info.non_differentiable_arg_names),
        "saved": sorted(map(name_of, (*info.all_saved_inputs, *info.all_saved_outputs))),
        "names": sorted(name for d in info.derivatives for name in d.named_gradients),
        "forward": [
            (f.var_names, sorted(f.required_inputs_fw_grad or ()), sorted(f.required_inputs_primal or ()))
            for f in info.forward_derivatives
        ],
    }


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((RuntimeError, AssertionError, KeyError, ValueError)):
        theirs(text, tmp_path, monkeypatch)
    assert_refused(text)


@pytest.mark.parametrize("text", REFUSED_HERE.values(), ids=REFUSED_HERE)
def test_what_torchgen_lets_pass(text: str) -> None:
    assert_refused(text)


def assert_refused(text: str) -> None:
    with pytest.raises(SchemaErrors) as caught:
        read_derivatives_text(text, operators(), path="derivatives.yaml")
    for error in caught.value.errors:
        assert error.span is not None and error.span.line > 0 and "^" in str(error), str(error)
