"""Callbacks for the end of a backward pass, and the buffers that a backward function adds to."""

from __future__ import annotations

from typing import Any

import pytest

import opwright
from opwright.autograd import Function
from opwright.autograd.graph import queue_callback


class Queues(Function):
    """Queue a callback that notes the gradient of a leaf."""

    @staticmethod
    def forward(ctx: Any, x: Any, leaf: Any, seen: list[Any]) -> Any:
        ctx.leaf, ctx.seen = leaf, seen
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        leaf, seen = ctx.leaf, ctx.seen

        def after() -> None:
            seen.append(None if leaf.grad is None else leaf.grad.tolist())

        queue_callback(after)
        return grad * 2, None, None


@pytest.mark.parametrize("create_graph", [False, True])
def test_callbacks_see_the_gradients(create_graph: bool) -> None:
    x: Any = opwright.ones(2, requires_grad=True)
    seen: list[Any] = []
    for expected in ([2, 2], [4, 4]):
        Queues.apply(x * 1, x, seen).sum().backward(create_graph=create_graph)
        assert seen.pop() == expected and not seen
    opwright.autograd.grad(Queues.apply(x * 1, x, seen).sum(), x)
    assert seen.pop() == [4, 4]
    Queues.apply(x * 1, x, seen).sum().backward(inputs=[x])
    assert seen == [[6, 6]]


def test_callbacks_queue_callbacks_and_come_in_order() -> None:
    x: Any = opwright.ones(2, requires_grad=True)
    seen: list[Any] = []

    def first() -> None:
        seen.append("first")
        queue_callback(lambda: seen.append("third"))

    def hook(grad: Any) -> None:
        queue_callback(first)
        queue_callback(lambda: seen.append("second"))

    x.register_hook(hook)
    (x * 2).sum().backward()
    assert seen == ["first", "second", "third"]


def test_a_pass_within_a_pass_calls_its_own() -> None:
    x: Any = opwright.ones(2, requires_grad=True)
    seen: list[Any] = []

    def inner(grad: Any) -> None:
        queue_callback(lambda: seen.append("inner"))

    def outer(grad: Any) -> None:
        queue_callback(lambda: seen.append("outer"))
        y = opwright.ones(2, requires_grad=True)
        y.register_hook(inner)
        with opwright.enable_grad():
            (y * 2).sum().backward()
        seen.append("between")

    x.register_hook(outer)
    (x * 2).sum().backward()
    assert seen == ["inner", "between", "outer"]


def test_nothing_is_called_after_an_error_or_outside() -> None:
    x: Any = opwright.ones(2, requires_grad=True)
    seen: list[Any] = []

    def fail(grad: Any) -> None:
        queue_callback(lambda: seen.append("called"))
        raise ValueError("no gradient")

    handle = x.register_hook(fail)
    with pytest.raises(ValueError, match="no gradient"):
        (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert seen == []
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        queue_callback(lambda: None)


class Adds(Function):
    """Multiply, and add the gradients to the buffers of the inputs."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, factor: float) -> Any:
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        return x * y * factor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        of_x, of_y, of_factor = ctx.input_grad_buffers
        assert of_factor is None and ctx.input_grad_buffers[0] is of_x
        of_x.add_(grad * y * ctx.factor)
        if of_y is None:
            return None, None, None
        of_y.add_(1)
        return None, grad * x * ctx.factor, None


def test_a_backward_adds_to_buffers() -> None:
    x: Any = opwright.ones(2, requires_grad=True)
    y: Any = opwright.tensor([3.0, 4.0], requires_grad=True)
    (Adds.apply(x * 1, y, 2.0) + Adds.apply(x, y, 1.0)).sum().backward()
    assert x.grad.tolist() == [9, 12] and y.grad.tolist() == [3, 3]
    kept = x.grad
    x.grad = None
    Adds.apply(x, opwright.tensor([3.0, 4.0]), 2.0).sum().backward()
    assert x.grad.tolist() == [6, 8] and kept.tolist() == [9, 12]
    first: Any = opwright.autograd.grad(Adds.apply(x, y, 1.0).sum(), x, create_graph=True)[0]
    second: Any = opwright.autograd.grad(first.sum(), y)[0]
    assert second.tolist() == [1, 1]


def test_buffers_are_of_backward() -> None:
    class Asks(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return ctx.input_grad_buffers

    with pytest.raises(RuntimeError, match="in backward alone"):
        Asks.apply(opwright.ones(1, requires_grad=True))
