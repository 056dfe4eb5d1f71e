"""Tensors that a transformed function captures: nothing writes to them, and no fake becomes their gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import opwright
from opwright.autograd import Function
from opwright.errors import FakeKernelError
from opwright.func import grad, jacfwd, jacrev, jvp, vjp
from opwright.fx.experimental.proxy_tensor import make_fx

X = opwright.ones(4)
ONES = opwright.ones(4)

# Writes to `b`, whose memory has four elements, in a function of `x`.
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "itself": lambda b, x: b.mul_(2),
    "a view": lambda b, x: b.view(-1).add_(x),
    "a row": lambda b, x: b[0].add_(x[0]),
    "a view of a view": lambda b, x: b.view(-1)[1:].view(3, 1).zero_(),
    "transposed": lambda b, x: b.t().copy_(b),
    "a number": lambda b, x: b.view(-1).fill_(3),
    "items": lambda b, x: b.__setitem__(0, 1.0),
    "places": lambda b, x: b.view(-1).index_put_((opwright.tensor([0]),), x[:1]),
    "detached": lambda b, x: b.detach().view(-1).add_(x),
    "data": lambda b, x: b.data.add_(1),
    "a split": lambda b, x: b.view(-1).split(2)[0].add_(1),
    "contiguous": lambda b, x: b.contiguous().add_(1),
    "out": lambda b, x: opwright.mul(ONES, 2, out=b.view(-1)),
}
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda f: jvp(f, (X,), (ONES,)),
    "grad": lambda f: grad(f)(X),
    "vjp": lambda f: vjp(f, X),
    "jacfwd": lambda f: jacfwd(f)(X),
    "jacrev": lambda f: jacrev(f)(X),
    "grad within grad": lambda f: grad(lambda y: grad(lambda z: f(z) * y.sum())(X).sum())(X),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", WRITES)
def test_captured_tensors_are_not_written_to(write: str, transform: str) -> None:
    for b in (opwright.zeros(2, 2), opwright.zeros(4).view(2, 2), opwright.zeros(2, 2, requires_grad=True) * 1):

        def function(x: Any, b: Any = b) -> Any:
            WRITES[write](b, x)
            return (x * b.view(-1)).sum()

        with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
            TRANSFORMS[transform](function)
        assert b.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_a_function_makes_is_written_to(transform: str) -> None:
    captured = opwright.ones(2, 2)

    def function(x: Any) -> Any:
        made, copied, given = opwright.zeros(4), captured.clone(), opwright.tensor([1.0, 2.0])
        made.view(2, 2)[0].add_(x[:2])
        copied.view(-1).mul_(x)
        given.detach().add_(1)
        return (made * copied.view(-1)).sum() + given.sum()

    TRANSFORMS[transform](function)


class AsItIs(Function):
    """Return the input, and save it."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * x * 2


class Viewed(AsItIs):
    @staticmethod
    def forward(x: Any) -> Any:
        return x.view_as(x)


class Beside(AsItIs):
    """Return the input beside another result, and save the output."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x * 3, x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output[1])


class Doubled(AsItIs):
    """Write to the input, and save it."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(output)


def first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


def recorded(function: Callable[[Any], Any]) -> Any:
    x = opwright.tensor([2.0, 3.0], requires_grad=True)
    return opwright.autograd.grad(function(x), x)[0]


@pytest.mark.parametrize("kind", [AsItIs, Beside])
def test_a_saved_input_is_not_returned_as_it_is(kind: Any) -> None:
    def total(x: Any) -> Any:
        return first(kind.apply(x)).sum()

    x = opwright.tensor([2.0, 3.0])
    ways: list[Callable[[], Any]] = [
        lambda: recorded(total),
        lambda: grad(total)(x),
        lambda: grad(lambda y: grad(total)(y).sum())(x),
        lambda: jacrev(total)(x),
    ]
    for way in ways:
        with pytest.raises(RuntimeError, match="returned as-is as output is being saved for backward"):
            way()
    assert first(kind.apply(x)).sum().item() in (5, 15)


def test_saved_views_and_written_inputs_have_their_gradients() -> None:
    x = opwright.tensor([2.0, 3.0])
    assert grad(lambda y: Viewed.apply(y).sum())(x).tolist() == [4, 6]
    assert grad(lambda y: grad(lambda z: Viewed.apply(z).sum())(y).sum())(x).tolist() == [2, 2]
    assert grad(lambda y: Doubled.apply(y * 1).sum())(x).tolist() == [8, 12]
    assert recorded(lambda y: Doubled.apply(y * 1).sum()).tolist() == [8, 12]


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_parameters_from_elsewhere_are_not_traced_without_data(mode: Any) -> None:
    parameter = opwright.ones(2, requires_grad=True)

    def step(x: Any) -> Any:
        (x * parameter).sum().backward()
        return x

    for function in (step, lambda x: x * parameter, lambda x: parameter.view(2, 1) + x):
        with pytest.raises(FakeKernelError, match="requires grad"):
            make_fx(function, tracing_mode=mode)(opwright.ones(2))
        assert parameter.grad is None
    graph = make_fx(lambda x: x * parameter, tracing_mode=mode, _allow_non_fake_inputs=True)(opwright.ones(2))
    assert graph(opwright.ones(2) * 3).tolist() == [3, 3]
    plain = parameter.detach()
    assert make_fx(lambda x: x * plain, tracing_mode=mode)(opwright.ones(2))(X[:2]).tolist() == [1, 1]
    assert make_fx(lambda x, p: x * p, tracing_mode=mode)(opwright.ones(2), parameter)(X[:2], X[:2]).tolist() == [1, 1]
