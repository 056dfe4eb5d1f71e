"""Generated operators that have no formulas for their gradients: what requires grad is not dropped in silence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pipeline import generate, imported, new_namespace

import opwright

SCHEMAS = """
- func: NAMESPACE::twice(Tensor self) -> Tensor
  meta: pointwise(self)
  dispatch:
    CPU: self + self
  autogen: twice.out, twice_

- func: NAMESPACE::four_times(Tensor x) -> Tensor
  dispatch:
    CompositeImplicitAutograd: add(add(x, x), add(x, x))

- func: NAMESPACE::add(Tensor x, Tensor y) -> Tensor
  meta: pointwise(x, y)
  dispatch:
    CPU: x + y
"""


@pytest.fixture
def operators(tmp_path: Path) -> Iterator[Any]:
    namespace = new_namespace()
    with imported(generate(tmp_path, SCHEMAS.replace("NAMESPACE", namespace))):
        yield getattr(opwright.ops, namespace)


def test_a_backward_pass_warns_and_finds_nothing(operators: Any) -> None:
    x = opwright.ones(3).requires_grad_()
    y = operators.twice(x)
    assert y.requires_grad and y.grad_fn.name() == "WarnNotImplemented"
    with pytest.warns(UserWarning, match="::twice: a backward pass went through it and found no gradient"):
        y.sum().backward()
    assert x.grad is None


def test_composites_are_recorded_by_their_parts(operators: Any) -> None:
    x = opwright.ones(3).requires_grad_()
    y = operators.four_times(x)
    with pytest.warns(UserWarning, match="::add: a backward pass went through it"):
        y.sum().backward()


def test_registered_formulas_come_first(operators: Any) -> None:
    name = operators.twice.default.name
    opwright.library.register_autograd(name, lambda ctx, grad: 2 * grad)
    x = opwright.ones(3).requires_grad_()
    operators.twice(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_writes_that_cannot_be_recorded_are_errors(operators: Any) -> None:
    x = opwright.ones(3).requires_grad_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        operators.twice_(x)
    with pytest.raises(RuntimeError, match=r"twice\(\): functions with out=... arguments don't support automatic"):
        operators.twice(x, out=opwright.empty(3))
    with opwright.no_grad():
        assert operators.twice(x).grad_fn is None
        assert operators.twice_(x)._version == 1
