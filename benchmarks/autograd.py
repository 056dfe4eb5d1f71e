"""Recorded calls and backward passes, with a wrapper as it is generated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

import opwright
from opwright.autograd.nodes import Node, next_sequence
from opwright.keys import GRAD
from opwright.registrations import Wrapper
from opwright.registry import register

from .measure import Figure, ratio


class AddBackward0(Node):
    """As it is generated."""

    __slots__ = ("alpha",)
    alpha: Any

    def apply(self, grad: Any) -> Sequence[Any]:
        first, second = self.edges
        alpha = self.alpha
        return (None if first is None else grad, None if second is None else grad if alpha == 1 else grad * alpha)


def add_wrapper(below: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(self: Any, other: Any, alpha: Any) -> Any:
        result = below(self, other, alpha)
        node = AddBackward0()
        node.edges = (self.edge, other.edge)
        node.sequence = next_sequence()
        node.extra = None
        array = result.array
        node.shape = array.shape
        node.dtype = array.dtype
        node.alpha = alpha
        result.edge = node
        result.keys |= GRAD
        return result

    return kernel


def figures() -> Iterator[Figure]:
    """With a wrapper made here where no generated one is registered yet."""
    torch.set_num_threads(1)
    if opwright.ops.aten.add.Tensor.has_kernel_for_dispatch_key("Autograd"):
        yield from recorded()
        return
    handle = register("aten::add.Tensor", "Autograd", Wrapper(add_wrapper, is_generated=True))
    try:
        yield from recorded()
    finally:
        handle.remove()


def recorded() -> Iterator[Figure]:
    ones = np.ones(4, np.float32)
    x, y, grad = opwright.from_numpy(ones.copy()).requires_grad_(), opwright.from_numpy(ones), opwright.ones([4])
    p, q, peer_grad = torch.ones(4, requires_grad=True), torch.ones(4), torch.ones(4)
    add, peer = opwright.add, torch.add
    yield ratio("recorded 4-element add", lambda: add(x, y), lambda: peer(p, q), 0.75)

    def chain() -> None:
        z = x
        for _ in range(50):
            z = add(z, y)
        z.backward(grad)

    def peer_chain() -> None:
        z = p
        for _ in range(50):
            z = peer(z, q)
        z.backward(peer_grad)

    yield ratio("50 adds, forward and backward", chain, peer_chain, 0.5, rounds=40)
    with opwright.no_grad(), torch.no_grad():
        yield ratio("add of a leaf under no_grad", lambda: add(x, y), lambda: peer(p, q), 0.8)
