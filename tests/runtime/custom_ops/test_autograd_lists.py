"""`register_autograd` of operators that take or return lists of Tensors."""

from __future__ import annotations

from typing import Any

import pytest

import opwright
from opwright import Tensor
from opwright.library import CustomOpDef, custom_op

pytestmark = pytest.mark.usefixtures("operators_are_dropped")


@pytest.fixture
def x() -> Tensor:
    return opwright.tensor([1.0, 2.0]).requires_grad_()


@pytest.fixture
def total() -> CustomOpDef:
    @custom_op("made::total", mutates_args=())
    def total(xs: list[Tensor], y: Tensor, k: int) -> list[Tensor]:
        return [x * y for x in xs]

    return total


def test_lists_of_tensors(x: Tensor, total: CustomOpDef) -> None:
    seen: list[Any] = []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        seen[:] = [ctx.needs_input_grad, inputs, output]

    def backward(ctx: Any, grads: list[Tensor]) -> Any:
        assert type(grads) is list
        return [grads[0] * 2, None], grads[1] * 3, None

    total.register_autograd(backward, setup_context=setup)
    y = opwright.ones(2).requires_grad_()
    first, second = total([x, x.detach()], y, 4)
    assert seen[0] == ([True, False], True, False)
    assert seen[1][0][0] is x and seen[1][2] == 4 and seen[2][0] is first
    found = opwright.autograd.grad([first, second], [x, y], [opwright.ones(2), opwright.ones(2)])
    assert [each.tolist() for each in found] == [[2, 2], [3, 3]]


def test_lists_among_several_results(x: Tensor) -> None:
    @custom_op("made::parts", mutates_args=())
    def parts(x: Tensor) -> tuple[list[Tensor], int, Tensor]:
        return [x[:1] * 2, x[1:] * 3], 2, x * 4

    seen: list[Any] = []

    def backward(ctx: Any, parts: list[Tensor], count: None, grad: Tensor) -> Tensor:
        seen[:] = [[each.tolist() for each in parts], count, grad.tolist()]
        return opwright.cat([parts[0] * 2, parts[1] * 3]) + grad * 4

    first, _, last = parts(x)
    assert first[0].requires_grad and last.requires_grad
    parts.register_autograd(backward)
    first, _, last = parts(x)
    assert opwright.autograd.grad(first[1].sum(), x)[0].tolist() == [0, 3] and seen == [[[0], [1]], None, [0, 0]]
    found = opwright.autograd.grad([*first, last], x, [opwright.ones_like(each) for each in (*first, last)])
    assert found[0].tolist() == [6, 7]


def test_a_wrong_gradient_of_an_element(x: Tensor, total: CustomOpDef) -> None:
    total.register_autograd(lambda ctx, _: ([None, opwright.ones(3)], None, None))
    with pytest.raises(RuntimeError, match=r"got \[3\] .*, for argument 'xs\[1\]'"):
        total([x, x], x, 1)[0].sum().backward()


@pytest.mark.parametrize("grads", [None, [None], (None, None), opwright.ones(2)])
def test_gradients_of_another_structure(x: Tensor, total: CustomOpDef, grads: Any) -> None:
    total.register_autograd(lambda ctx, _: (grads, None, None))
    first, _ = total([x, x], x, 1)
    with pytest.raises(RuntimeError, match=r"Got: \(.*None, None\) \(return from backward\), \(a list of 2, a grad"):
        first.sum().backward()
