"""Leaves of a graph that become results of another one, and views that are no views: what PyTorch makes of both."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import opwright
from opwright import Tensor


def stopped() -> tuple[Tensor, Tensor]:
    """Return a leaf that does not require grad any more, and a result of the graph that it was a leaf of."""
    x = opwright.ones(2, requires_grad=True)
    result = x * 2.0
    return x.requires_grad_(False), result


def multiply(x: Tensor, y: Tensor) -> None:
    x.mul_(y)


def copy(x: Tensor, y: Tensor) -> None:
    x.copy_(y)


def write_to_a_view(x: Tensor, y: Tensor) -> None:
    x[0].mul_(y[0])


def require_again(x: Tensor, y: Tensor) -> None:
    x.mul_(y)
    x.requires_grad_()


@pytest.mark.parametrize("write", [multiply, copy, write_to_a_view, require_again])
@pytest.mark.parametrize("is_hooked", [False, True])
def test_a_leaf_that_became_a_result_gets_no_gradient(write: Callable[[Tensor, Tensor], None], is_hooked: bool) -> None:
    x, result = stopped()
    y = opwright.ones(2, requires_grad=True)
    write(x, y)
    if is_hooked:
        result.register_hook(lambda grad: grad)
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        result.sum().backward()
    assert not x.is_leaf
    assert x.extra is None or x.extra.grad is None
    x.sum().backward()
    assert y.grad is not None


def test_a_leaf_that_is_a_view_became_a_result() -> None:
    base = opwright.ones(4)
    x = base[:2].requires_grad_()
    result = x * 2.0
    x.requires_grad_(False)
    base.mul_(opwright.ones(4, requires_grad=True))
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        result.sum().backward()


def test_a_leaf_that_requires_grad_again_gets_its_gradient() -> None:
    x, result = stopped()
    with opwright.no_grad():
        x.mul_(3.0)
    result.sum().backward()
    assert x.grad is None
    x.requires_grad_()
    (x * 2.0).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_the_transpose_of_a_number_is_the_number() -> None:
    x = opwright.ones(())
    x.mT.requires_grad_()
    assert x.requires_grad
    assert x.mT is x


@pytest.mark.parametrize("mode", [opwright.enable_grad, opwright.no_grad])
@pytest.mark.parametrize(
    "product",
    [
        lambda x: x @ opwright.ones(2, 2),
        lambda x: opwright.nn.functional.linear(x, opwright.ones(2, 2)),
        lambda x: opwright.kron(x, opwright.ones(1)),
    ],
)
def test_products_are_written_in_place_and_detached(
    mode: Callable[[], object], product: Callable[[Tensor], Tensor]
) -> None:
    with mode():  # type: ignore[attr-defined]
        first, second = product(opwright.ones(2)), product(opwright.ones(2))
    factor = opwright.ones(2, requires_grad=True)
    first.mul_(factor)
    first.sum().backward()
    assert factor.grad is not None
    assert second.detach_()._base is None


def test_views_of_inference_tensors_have_no_base() -> None:
    with opwright.inference_mode():
        x = opwright.ones(4)
        view = x.view(2, 2)
        assert view._base is None
        view.detach_().mul_(2.0)
        rows = x.split(2)
        rows[0].add_(1.0)
        assert opwright.ones(4).view(2, 2)[0]._base is None
    assert x.tolist() == [3.0, 3.0, 2.0, 2.0]
    assert view.is_inference()
    assert view.untyped_storage() is x.untyped_storage()
