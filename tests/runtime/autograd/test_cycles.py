"""What users tie into cycles through the graph is freed by the garbage collector, though it does not see all nodes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import opwright
from opwright.autograd import Function
from opwright.autograd.graph import saved_tensors_hooks


def leaf() -> opwright.Tensor:
    return opwright.ones(3, requires_grad=True)


def hook_of_a_node() -> opwright.Tensor:
    y = leaf() * 2
    z = (y * 3).exp()
    y.register_hook(lambda grad: grad * z.detach())
    return z


def hook_of_a_node_that_is_filled_later() -> opwright.Tensor:
    y, held = leaf() * 2, []
    y.register_hook(lambda grad: held.clear())
    held.append((y * 3).exp())
    return held[0]


def hook_of_a_leaf() -> opwright.Tensor:
    x = leaf()
    z = (x * 2).exp()
    x.register_hook(lambda grad: grad * z.detach())
    return z


def hook_after_a_leaf() -> opwright.Tensor:
    x, held = leaf(), []
    x.register_post_accumulate_grad_hook(lambda tensor: held.clear())
    held.append((x * 2).exp())
    return held[0]


def hook_of_a_call() -> opwright.Tensor:
    z = (leaf() * 2).exp()
    z.grad_fn.register_prehook(lambda grads: z and None)
    return z


def recorded_gradient() -> opwright.Tensor:
    x = leaf()
    (x * x * x).sum().backward(create_graph=True)
    return x


def attribute_of_a_saved_tensor() -> opwright.Tensor:
    class Named(opwright.Tensor):
        result: opwright.Tensor

    x, y = leaf(), opwright.ones(3).as_subclass(Named)
    y.result = x * y
    return y


def gradient_that_a_user_sets() -> opwright.Tensor:
    x, y = leaf(), opwright.ones(3)
    y.grad = x * y
    return y


def written_by_its_own_user() -> opwright.Tensor:
    x = leaf() * 1
    y = x * leaf()
    x.mul_(y)
    return y


def context_of_a_function() -> opwright.Tensor:
    class Held(Function):
        @staticmethod
        def forward(ctx: Any, x: opwright.Tensor) -> opwright.Tensor:
            ctx.held = contexts
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: opwright.Tensor) -> opwright.Tensor:
            return grad * 2

    contexts: list[Any] = []
    z = Held.apply(leaf() * 3) * 2
    contexts.append(z)
    return z


def packed_by_hooks() -> opwright.Tensor:
    held: list[Any] = []
    with saved_tensors_hooks(lambda tensor: (tensor, held), lambda packed: packed[0]):
        z = (leaf() * 2).exp() * leaf()
    held.append(z)
    return z


CYCLES: list[Callable[[], opwright.Tensor]] = [
    hook_of_a_node, hook_of_a_node_that_is_filled_later, hook_of_a_leaf, hook_after_a_leaf, hook_of_a_call,
    recorded_gradient, attribute_of_a_saved_tensor, gradient_that_a_user_sets, written_by_its_own_user,
    context_of_a_function, packed_by_hooks,
]  # fmt: skip


@pytest.mark.parametrize("make", CYCLES, ids=lambda make: make.__name__)
def test_cycles_through_the_graph_are_freed(make: Callable[[], opwright.Tensor]) -> None:
    gc.collect()
    gc.disable()  # so that it is the cycle's own collection that is looked at
    try:
        held = weakref.ref(make())
        assert held() is not None, "it was no cycle"
        gc.collect()
        assert held() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("make", [hook_of_a_node, hook_of_a_leaf, recorded_gradient], ids=lambda make: make.__name__)
def test_cycles_are_freed_while_more_are_made(make: Callable[[], opwright.Tensor]) -> None:
    gc.collect()
    living = {weakref.ref(make()) for _ in range(2_000)}
    assert sum(each() is not None for each in living) < 1_000


def test_nodes_are_shown_to_the_collector_where_there_are_very_many() -> None:
    z = first = leaf() * 2
    for _ in range(300_000):
        z = z * 2.0
    count = 0
    node = z.grad_fn
    assert gc.is_tracked(first.grad_fn)
    while node is not None and count < 1_000_000:  # what is not shown is fewer than a full run begins after
        if gc.is_tracked(node):
            break
        node, count = node.next_functions[0][0], count + 1
    assert count <= 131_072


def test_edges_are_the_same_however_often_one_looks() -> None:
    x, y = leaf(), opwright.ones(3)
    for tensor, expected in (
        (x * y, (x.edge, None)),
        (opwright.where(x > 0, x, y), (x.edge, None)),
        (x.sum(), (x.edge,)),
    ):
        node = tensor.grad_fn
        assert node.edges == expected
        assert node.edges is node.edges
        node.edges = list(expected)
        assert node.edges == list(expected)
        tensor.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0] * 3


def test_nodes_keep_tensors_whose_writes_nobody_counted_yet() -> None:
    x, y = leaf(), opwright.ones(3)
    z = x * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.sum().backward()
    x, y = leaf(), opwright.ones(3)
    z = x * y
    y[0].detach()  # which makes a storage, and writes nothing
    z.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0] * 3
