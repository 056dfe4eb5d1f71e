"""Malformed derivatives and what is said of them: `derivative_errors/NAME.yaml` with the expected text in `NAME.txt`.

`pytest --update-golden` rewrites the expectations; the diff is then for a person to read.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from opwright_codegen.derivatives.files import read_derivatives_text
from opwright_codegen.errors import SchemaErrors
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.files import read_text
from opwright_codegen.read.model import OperatorSet

FOLDER = Path(__file__).parent / "derivative_errors"
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))

# Their kernels are of no interest here.
SCHEMAS = """
- func: sin(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: sin}
- func: sin_(Tensor(a!) self) -> Tensor(a!)
  variants: function, method
  dispatch: {CPU: sin}
- func: cos(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: cos}
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  variants: function, method
  dispatch: {CPU: add}
- func: add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
  variants: function, method
  dispatch: {CPU: add_scalar}
- func: topk(Tensor self, int k, int dim=-1) -> (Tensor values, Tensor indices)
  dispatch: {CPU: topk}
- func: split(Tensor self, int size) -> (Tensor first, Tensor second)
  dispatch: {CPU: split}
- func: cat(Tensor[] tensors, int dim=0) -> Tensor
  dispatch: {CPU: cat}
- func: same(Tensor self, Tensor x) -> (Tensor x, Tensor y)
  dispatch: {CPU: same}
- func: chunks(Tensor self, int count) -> Tensor[]
  dispatch: {CPU: chunks}
- func: head(Tensor self) -> (Tensor first, Tensor[] rest)
  dispatch: {CPU: head}
- func: hidden(Tensor self, Tensor grad) -> Tensor
  dispatch: {CPU: hidden}
- func: masked(Tensor result, Tensor grad_input_mask) -> Tensor
  dispatch: {CPU: masked}
"""
FUNCTIONS = '''
def split_backward(first, second, size, dim=0):
    """A backward function."""

def shapes_of(tensors):
    """A fact about a list."""
'''


@cache
def operators() -> OperatorSet:
    return read_text(SCHEMAS)


@pytest.fixture
def functions(tmp_path: Path) -> KernelModules:
    (tmp_path / "backward.py").write_text(FUNCTIONS)
    return KernelModules(["backward"], [tmp_path], of="backward function")


@pytest.mark.parametrize("case", CASES)
def test_errors_of(case: str, functions: KernelModules, update_golden: bool) -> None:
    text = (FOLDER / f"{case}.yaml").read_bytes().decode()
    declared = operators()
    golden = FOLDER / f"{case}.txt"
    with pytest.raises(SchemaErrors) as caught:
        read_derivatives_text(text, declared, None if case.startswith("foreign") else functions, f"{case}.yaml")
    found = f"{caught.value}\n"
    if update_golden:
        golden.write_text(found, encoding="utf-8", newline="\n")
    assert found == golden.read_text(encoding="utf-8")


def test_expectations_have_inputs() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == CASES
