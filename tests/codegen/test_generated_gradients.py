"""Generated operators that have no formulas for their gradients: what requires grad is not dropped in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pipeline import generate, generate_project, imported, new_namespace

import opwright
from opwright.errors import AutogradError

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


SQUARES = """
- func: NS::square(Tensor x) -> Tensor
  meta: pointwise(x)
  dispatch: {CPU: x * x}
- func: NS::square_backward(Tensor grad, Tensor x) -> Tensor
  meta: pointwise(grad, x)
  dispatch: {CPU: 2 * x * grad}
- func: NS::pair(Tensor x) -> (Tensor, Tensor)
  meta: pointwise(x), pointwise(x)
  dispatch: {CPU: "x * x, 3 * x"}
- func: NS::pair_backward(Tensor? one, Tensor? other, Tensor x) -> Tensor
  meta: pointwise(x)
  dispatch: {CPU: "2 * x * (0 if one is None else one) + 3 * (0 if other is None else other)"}
"""
FORMULAS = """
- name: NS::square(Tensor x) -> Tensor
  x: square_backward(grad, x)
- name: NS::pair(Tensor x) -> (Tensor, Tensor)
  x: pair_backward(grads[0], grads[1], x)
"""


@pytest.fixture
def squares(tmp_path: Path) -> Iterator[Any]:
    namespace = new_namespace()
    schemas, formulas = (text.replace("NS", namespace) for text in (SQUARES, FORMULAS))
    with imported(generate_project(tmp_path, schemas, formulas)):
        yield getattr(opwright.ops, namespace)


def once(f: Any, x: opwright.Tensor) -> Any:
    return opwright.autograd.grad(f(x).sum(), x, create_graph=True)[0]


TWICE: dict[str, Any] = {
    "grad": lambda f, x: opwright.autograd.grad(once(f, x).sum(), x, allow_unused=True),
    "backward": lambda f, x: once(f, x).sum().backward(),
    "func": lambda f, x: opwright.func.grad(lambda t: opwright.func.grad(lambda u: f(u).sum())(t).sum())(x.detach()),
    "hessian": lambda f, x: opwright.func.jacrev(opwright.func.grad(lambda u: f(u).sum()))(x.detach()),
    "beside": lambda f, x: (once(f, x) + x**3).sum().backward(),
}


@pytest.mark.parametrize("way", TWICE)
@pytest.mark.parametrize("name", ["square", "pair"])
def test_a_backward_pass_through_a_backward_operator_without_derivatives(squares: Any, way: str, name: str) -> None:
    """It was zeros, and a warning without the entry that is missing."""
    x = opwright.tensor([1.0, 2.0], requires_grad=True)

    def call(t: opwright.Tensor) -> Any:
        found = getattr(squares, name)(t)
        return found if name == "square" else found[0] + found[1]

    assert once(call, x).tolist() in ([2.0, 4.0], [5.0, 7.0])
    entry = f"add an entry to derivatives.yaml, `- name: {getattr(squares, name).default.name}_backward("
    with pytest.raises(AutogradError, match=re.escape(entry)):
        TWICE[way](call, x)
