"""Traces: make_fx in symbolic and real mode, and the graph's own call; against PyTorch's make_fx."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch
import torch.fx.experimental.proxy_tensor

import opwright
import opwright.fx

from .measure import Figure, ratio

SIZES = (8, 32), (32, 64), (64, 32)


def figures() -> Iterator[Figure]:
    ours, peer = layers(opwright), layers(torch)
    mine, theirs = inputs(opwright), inputs(torch)
    for mode, budget in (("symbolic", 0.1), ("fake", None), ("real", None)):
        own: Any = opwright.fx.make_fx(ours, tracing_mode=mode)  # type: ignore[arg-type]
        other: Any = torch.fx.experimental.proxy_tensor.make_fx(peer, tracing_mode=mode)
        work = f"12-layer make_fx, {mode}{' with guards' if mode == 'symbolic' else ''}"
        yield ratio(work, lambda own=own: own(*mine), lambda other=other: other(*theirs), budget, rounds=1, repeats=15)
    graph: Any = opwright.fx.make_fx(ours, tracing_mode="symbolic")(*mine)
    yield ratio("what it recorded, run, against the function", lambda: graph(*mine), lambda: ours(*mine), rounds=1)
    yield joint()
    yield by_hand()


def layers(library: ModuleType) -> Callable[..., Any]:
    """Twelve layers: norm, two products, gelu, and the way past them."""
    functional: Any = library.nn.functional

    def run(x: Any, first: Any, second: Any) -> Any:
        for _ in range(12):
            h = functional.layer_norm(x, (x.shape[-1],))
            x = x + functional.gelu(h @ first) @ second
        return x

    return run


def inputs(library: Any) -> list[Any]:
    return [library.randn(*shape) for shape in SIZES]


def joint() -> Figure:
    """Forward and backward in one graph."""

    def made(library: Any, make_fx: Any) -> Callable[[], object]:
        run, given = layers(library), [each.requires_grad_() for each in inputs(library)]

        def both(*args: Any) -> Any:
            return library.autograd.grad(run(*args).sum(), args)

        return lambda: make_fx(both, tracing_mode="symbolic")(*given)

    ours, peer = made(opwright, opwright.fx.make_fx), made(torch, torch.fx.experimental.proxy_tensor.make_fx)
    return ratio("12-layer make_fx with its backward, symbolic", ours, peer, rounds=1, repeats=9)


def by_hand() -> Figure:
    """A graph of 1000 nodes, made and compiled."""

    def made(fx: Any) -> Callable[[], object]:
        def make() -> object:
            graph = fx.Graph()
            node = graph.placeholder("x")
            for _ in range(1000):
                node = graph.call_function(operator.add, (node, 1))
            graph.output(node)
            return fx.GraphModule({}, graph)(1)

        return make

    return ratio("a graph of 1000 nodes by hand, made and run", made(opwright.fx), made(torch.fx), rounds=1, repeats=9)
