"""Gradients of a wrong shape: the message has the formula, and its line in derivatives.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipeline import generate_project, imported, new_namespace

import opwright

SCHEMAS = """\
- func: NS::fine(Tensor x) -> Tensor
  meta: like(x)
  dispatch: {CPU: x * 2}
- func: NS::wrong(Tensor x, Tensor y) -> Tensor
  meta: pointwise(x, y)
  dispatch: {CPU: x * y}
"""
DERIVATIVES = """\
- name: NS::fine(Tensor x) -> Tensor
  x: 2 * grad
# a comment
- name: NS::wrong(Tensor x, Tensor y) -> Tensor
  x: grad * y

  y: grad.sum(0)
"""


def test_a_gradient_of_a_wrong_shape_names_its_formula_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = new_namespace()
    run = generate_project(tmp_path, SCHEMAS.replace("NS", space), DERIVATIVES.replace("NS", space))
    with imported(run):
        wrong = getattr(opwright.ops, space).wrong
        for folder, place in ((tmp_path, ", at derivatives.yaml:7"), (tmp_path.parent, "")):
            monkeypatch.chdir(folder)
            x, y = opwright.ones(2, 3), opwright.ones(2, 3, requires_grad=True)
            with pytest.raises(RuntimeError, match="at index 1 - got") as caught:
                wrong(x, y).sum().backward()
            assert f"\nFormula: y: grad.sum(0){place}\nDeclaration: {space}::wrong(" in str(caught.value)
