"""What PyTorch leaves out of calls, and operators in an order of their own."""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path

import pytest

from opwright_codegen.cli import main

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle
SCHEMAS = """
- func: torch_binding::scale_(Tensor(a!) self, Scalar by) -> Tensor(a!)
  meta: pointwise(self, by)
  dispatch: {CPU: "xp.multiply(self, by)"}

- func: torch_binding::scale(Tensor self, Scalar by) -> Tensor
  meta: pointwise(self, by)
  dispatch: {CPU: "xp.multiply(self, by)"}

- func: torch_binding::halve(Tensor self) -> Tensor
  meta: pointwise(self)
  dispatch: {CPU: self / 2}

- func: torch_binding::above(Tensor self) -> Tensor
  meta: pointwise(self, kind="bool")
  dispatch: {CPU: self > 0}

- func: torch_binding::weighted(Tensor self, *, Tensor weight) -> Tensor
  meta: pointwise(self, weight)
  dispatch: {CPU: self * weight}

- func: torch_binding::ending(Tensor self) -> Tensor
  meta: pointwise(self)
  dispatch: {CPU: "xp.sign(self)"}

- func: torch_binding::affine(Tensor x, Tensor? weight=None, Tensor? bias=None) -> Tensor
  meta: like(x)
  dispatch: {CPU: affine}
"""
DERIVATIVES = """
- name: torch_binding::scale(Tensor self, Scalar by) -> Tensor
  self: grad * by

- name: torch_binding::affine(Tensor x, Tensor? weight=None, Tensor? bias=None) -> Tensor
  x: grad if weight is None else grad * weight
  weight: grad * x
  bias: grad

- name: torch_binding::ending(Tensor self) -> Tensor
  output_differentiability: [false]
"""
KERNELS = """
def affine(x, weight, bias):
    scaled = x * 1 if weight is None else x * weight
    return scaled if bias is None else scaled + bias
"""


def test_arguments_left_out_and_operators_that_come_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ops.yaml").write_text(SCHEMAS)
    (tmp_path / "derivatives.yaml").write_text(DERIVATIVES)
    (tmp_path / "torch_binding_kernels.py").write_text(KERNELS)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.opwright]\nschemas = ["ops.yaml"]\nderivatives = "derivatives.yaml"\noutput = "torch_binding_ops"\n'
        'kernels = ["torch_binding_kernels"]\nbindings = ["torch"]\n'
    )
    with contextlib.chdir(tmp_path):
        assert main(["generate"]) == 0
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("torch_binding_ops_torch")
    assert module.binding.namespace == "torch_binding"
    ops = torch.ops.torch_binding
    x, weight, bias = (torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(3))
    for args in ((x,), (x, weight), (x, None, bias), (x, weight, bias)):
        assert set(torch.library.opcheck(ops.affine.default, args).values()) == {"SUCCESS"}
        given = tuple(each for each in args if each is not None)
        assert torch.autograd.gradcheck(lambda *given, args=args: ops.affine(*args), given)
    y = x * 1
    ops.scale_(y, 3.0)
    (found,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(found, torch.full((3,), 3.0, dtype=torch.float64))
    for name, others in (("halve", {}), ("weighted", {"weight": bias.detach()}), ("affine", {})):
        operator = getattr(ops, name)
        with pytest.raises(NotImplementedError, match=f"{name}.default: no forward formula that PyTorch can call"):
            torch.func.jvp(
                lambda *given, call=operator, rest=others: call(*given, **rest), (x.detach(),), (x.detach(),)
            )
    for name in ("above", "ending"):  # no derivative
        result, tangent = torch.func.jvp(getattr(ops, name), (x.detach(),), (x.detach(),))
        assert torch.equal(result, getattr(ops, name)(x)) and not tangent.any()
