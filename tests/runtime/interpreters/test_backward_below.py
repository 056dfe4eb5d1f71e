"""Backward passes of `grad` and `vjp`: on values where generated nodes serve, on tensors of the level elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.autograd import Function
from opwright.autograd.graph import saved_tensors_hooks
from opwright.func import grad, jacrev, jvp, vjp, vmap
from opwright_core.core import fast

X = opwright.tensor([0.3, -1.2, 2.0], dtype=opwright.float64)
ROWS = opwright.tensor([[0.3, -1.2, 2.0], [1.0, 0.5, -0.7]], dtype=opwright.float64)


def close(found: Any, expected: Any) -> bool:
    return found.shape == expected.shape and np.allclose(found.detach().numpy(), expected.detach().numpy())


class Scaled(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return 2 * x

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.kept = inputs[0]  # a tensor of the level

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * (2 + 0 * ctx.kept)


def by_hook(x: Any) -> Any:
    y = x.sin()
    y.register_hook(lambda gradient: gradient * x)
    return y.sum()


def by_packed(x: Any) -> Any:
    with saved_tensors_hooks(lambda tensor: tensor * 2, lambda tensor: tensor / 2):
        return x.sin().sum()


def by_view(x: Any) -> Any:
    y = x * 1
    y[1:].mul_(x[1:])
    return y.sum()


@pytest.mark.parametrize(
    ("function", "derivative"),
    [
        (lambda x: x.exp().sum(), lambda x: x.exp()),  # saves its result
        (lambda x: opwright.cat([x, x * x]).sum(), lambda x: 1 + 2 * x),  # saves a list
        (lambda x: x.sort()[0][0] * 3, lambda x: 3.0 * (x == x.min())),  # a node of several results
        (lambda x: (x[1:] * x[:-1]).sum(), lambda x: opwright.cat([x[1:2], x[:1] + x[2:], x[1:2]])),
        (by_hook, lambda x: x * x.cos()),
        (by_view, lambda x: opwright.cat([opwright.ones_like(x[:1]), 2 * x[1:]])),
    ],
)
def test_each_kind_of_graph(function: Callable[[Any], Any], derivative: Callable[[Any], Any]) -> None:
    assert close(grad(function)(X), derivative(X))
    assert close(vmap(grad(function))(ROWS), opwright.stack([derivative(row) for row in ROWS]))
    by_jvp = jvp(grad(function), (X,), (opwright.ones_like(X),))[1]
    by_grad = grad(lambda x: grad(function)(x).sum())(X)
    assert close(by_jvp, jvp(derivative, (X,), (opwright.ones_like(X),))[1])
    assert close(by_grad, grad(lambda x: derivative(x).sum())(X))


def test_packed_tensors_and_attributes_of_contexts() -> None:
    assert close(grad(by_packed)(X), X.cos())
    assert close(vmap(grad(by_packed))(ROWS), ROWS.cos())
    assert close(grad(lambda x: (Scaled.apply(x) * x).sum())(X), 4 * X)
    assert close(vmap(grad(lambda x: (Scaled.apply(x) * x).sum()))(ROWS), 4 * ROWS)


def test_a_pullback_is_called_again() -> None:
    x = X.clone()
    output, pullback = vjp(opwright.sin, x)
    for weight in (1.0, 2.0):
        assert close(pullback(weight * opwright.ones_like(x))[0], weight * X.cos())
    assert close(vmap(pullback)(opwright.eye(3, dtype=opwright.float64))[0], opwright.diag(X.cos()))
    assert close(jacrev(opwright.sin)(x), opwright.diag(X.cos()))
    x.zero_()  # as in PyTorch, a level counts its own writes only
    assert close(pullback(opwright.ones_like(x))[0], opwright.ones_like(X)) and close(output, X.sin())


def test_what_is_recorded_outside() -> None:
    x = X.clone().requires_grad_()
    found = grad(lambda x: (x * x * x).sum())(x)
    found.sum().backward()
    assert close(x.grad, 6 * X)
    with opwright.no_grad():
        assert not grad(lambda x: (x * x * x).sum())(x).requires_grad


def test_a_write_to_what_was_saved() -> None:
    def function(x: Any) -> Any:
        y = x * 1
        z = y.sin()
        y.zero_()
        return z.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad(function)(X)


@pytest.mark.skipif(fast is None or sys.version_info < (3, 12), reason="comprehensions and Python kernels are calls")
def test_calls_of_python_functions() -> None:
    """The limit is for three operators with their gradients, warm."""
    per_sample = vmap(grad(lambda w, x: (w * x).sin().sum()), in_dims=(None, 0))
    count = 0

    def note(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    for _ in range(3):
        per_sample(X, ROWS)
    sys.setprofile(note)
    try:
        per_sample(X, ROWS)
    finally:
        sys.setprofile(None)
    assert 0 < count <= 300


@pytest.mark.parametrize(
    ("pack", "unpack"),
    [
        (lambda tensor: tensor, lambda tensor: tensor),
        (lambda tensor: [tensor], lambda kept: kept[0]),
        (lambda tensor: tensor.clone(), lambda tensor: tensor),
        (lambda tensor: tensor * 4, lambda tensor: tensor / 4),
    ],
)
def test_packed_tensors_keep_outer_derivatives(pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        with saved_tensors_hooks(pack, unpack):
            return (x * x * x).sum()

    assert close(jvp(grad(function), (X,), (opwright.ones_like(X),))[1], 6 * X)
    assert close(grad(lambda x: grad(function)(x).sum())(X), 6 * X)
    leaf = X.detach().requires_grad_()
    grad(function)(leaf).sum().backward()
    assert close(leaf.grad, 6 * X)


@pytest.mark.parametrize(
    ("pack", "unpack"),
    [
        (lambda tensor: tensor.detach(), lambda tensor: tensor),
        (lambda tensor: tensor.numpy(), opwright.from_numpy),
    ],
)
def test_packing_that_cuts_outer_derivatives_is_refused(
    pack: Callable[[Any], Any], unpack: Callable[[Any], Any]
) -> None:
    def function(x: Any) -> Any:
        with saved_tensors_hooks(pack, unpack):
            return (x * x * x).sum()

    assert close(grad(function)(X), 3 * X * X)
    with pytest.raises(RuntimeError, match="inside nested transforms"):
        jvp(grad(function), (X,), (opwright.ones_like(X),))
    with pytest.raises(RuntimeError, match="inside nested transforms"):
        grad(lambda x: grad(function)(x).sum())(X)
