"""Hooks that are told of each node of a graph when it is made: as PyTorch 2.14 tells them, but for AccumulateGrad."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import opwright
from opwright import Tensor
from opwright.autograd.graph import Node, node_creation_hook
from opwright.library import custom_op

X = opwright.tensor([1.0, 2.0], requires_grad=True)


def made(function: Any) -> list[str]:
    """The names of the nodes that a function makes."""
    nodes: list[Node] = []
    with node_creation_hook(nodes.append):
        function()
    return [node.name() for node in nodes]


class Doubled(opwright.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 2


def write_to_a_view() -> None:
    base = X.clone()
    base[0].add_(1)


@pytest.mark.parametrize(
    "function, names",
    [
        (lambda: (X * X).sum(), ["MulBackward0", "SumBackward0"]),
        (lambda: X.unbind(), ["UnbindBackward0"]),
        (lambda: X.clone().mul_(3), ["CloneBackward0", "MulBackward0"]),
        (write_to_a_view, ["CloneBackward0", "SelectBackward0", "AsStridedBackward0", "torch::autograd::CopySlices"]),
        (lambda: Doubled.apply(X).sum(), ["DoubledBackward", "SumBackward0"]),
        (lambda: opwright.mv(opwright.ones(2, 2), X).contiguous(), ["MvBackward0"]),
        (lambda: (X.detach() * 2, X.data + 1), []),
        (lambda: (X * X).sum().backward(), ["MulBackward0", "SumBackward0"]),
    ],
)
def test_what_is_told(function: Any, names: list[str]) -> None:
    assert sorted(made(function)) == sorted(names)
    assert made(function)[:1] == names[:1]


def test_without_gradients_nothing_is_told() -> None:
    with opwright.no_grad():
        assert made(lambda: X * X) == []
    assert made(lambda: opwright.ones(2) * 2) == []


def test_backward_passes_that_are_recorded() -> None:
    y = (X * X).sum()
    assert made(lambda: opwright.autograd.grad(y, X, retain_graph=True)) == []
    assert made(lambda: opwright.autograd.grad(y, X, create_graph=True)) == [
        "MulBackward0",
        "MulBackward0",
        "AddBackward0",
    ]


def test_custom_operators() -> None:
    @custom_op("tests_creations::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x.clone()

    same.register_autograd(lambda ctx, grad: grad)
    assert len(made(lambda: same(X))) == 1


def test_nodes_are_complete() -> None:
    seen = []
    with node_creation_hook(lambda node: seen.append((node._saved_self is X, node.next_functions[0][0].variable is X))):
        X * X
    assert seen == [(True, True)]


def test_hooks_of_nodes_run_in_the_backward_pass() -> None:
    order: list[str] = []

    def hook(node: Node) -> None:
        node.register_prehook(lambda grads: order.append(f"before {node.name()}"))
        node.register_hook(lambda inputs, outputs: order.append(f"after {node.name()}"))

    with node_creation_hook(hook):
        y = (X * 3.0).sum()
    y.backward()
    X.grad = None
    assert order == ["before SumBackward0", "after SumBackward0", "before MulBackward0", "after MulBackward0"]


def test_nesting() -> None:
    order: list[str] = []
    inner = node_creation_hook(lambda node: order.append("inner"))
    with node_creation_hook(lambda node: order.append("outer")):
        with inner, inner:
            X.exp()
        X.exp()
    X.exp()
    assert order == ["outer", "inner", "inner", "outer"]


def test_threads_are_told_of_their_own() -> None:
    def elsewhere() -> None:
        thread = threading.Thread(target=X.exp)
        thread.start()
        thread.join()

    assert made(elsewhere) == []


def test_hooks_that_record() -> None:
    recording = node_creation_hook(lambda node: X.exp())
    with recording, pytest.raises(RuntimeError, match=r"inside a node creation hook(?s:.*)ExpBackward0"):
        X.sin()
    with node_creation_hook(lambda node: X.detach().exp()):
        assert X.sin().requires_grad
    with pytest.raises(TypeError, match="expects a function of a node, not int"):
        node_creation_hook(3)  # type: ignore[arg-type]


def test_errors_of_hooks_are_the_calls() -> None:
    def refuse(node: Node) -> None:
        raise ValueError(node.name())

    with node_creation_hook(refuse), pytest.raises(ValueError, match="ExpBackward0"):
        X.exp()
    assert X.exp().requires_grad


def test_anomaly_mode_within_and_around() -> None:
    names: list[str] = []

    def recorded(is_detecting: bool) -> bool:
        y = (X * 2.0).sqrt()
        node = y.grad_fn
        return (node.extra is not None and node.extra.trace is not None) is is_detecting

    with node_creation_hook(lambda node: names.append(node.name())):
        assert recorded(False)
        with opwright.autograd.set_detect_anomaly(True):
            assert recorded(True)
            with opwright.autograd.set_detect_anomaly(False):
                assert recorded(False)
        (X - X).sqrt().sum().backward()  # NaN, which only anomaly mode minds
        X.grad = None
    with opwright.autograd.set_detect_anomaly(True), node_creation_hook(lambda node: names.append(node.name())):
        assert recorded(True)
    assert recorded(False)
    assert names.count("SqrtBackward0") == 5
