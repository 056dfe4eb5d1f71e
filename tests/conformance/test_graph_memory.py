"""No graph waits for the garbage collector: what is recorded is freed with the last tensor that leads to it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from differentiating import (
    as_tuple,
    call_named,
    case_names,
    chosen,
    derivatives,
    flattened,
    named_arguments,
    overload,
    tensors_of,
)
from sampling import Sample

import opwright
from opwright.autograd import Node, grad

pytest.importorskip("torch", reason="samples come with the oracle")
from oracle import copied, to_opwright

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
Tensor = opwright.Tensor
SAMPLES_OF_EACH = 3
ONCE = ("_ctc_loss",)  # whose gradient has none: `_ctc_loss_backward` is a kernel of its own, not differentiable


@pytest.fixture(autouse=True, scope="module")
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


def twice(name: str, sample: Sample) -> None:
    """An operator, its backward, and the backward of that, where there is one."""
    entry = derivatives().find(f"aten::{name}")
    assert entry is not None
    values = {key: to_opwright(copied(value)) for key, value in named_arguments(entry.operator.schema, sample).items()}
    keys = {key for derivative in entry.derivatives if derivative.reason is None for key in derivative.inputs}
    leaves = [each for key in sorted(keys) for each in tensors_of(values[key]) if np.dtype(each.dtype).kind in "fc"]
    for leaf in leaves:
        leaf.requires_grad_()
    outputs = flattened(as_tuple(call_named(overload(opwright, name), entry.operator.schema, values)))
    for _ in range(1 if name in ONCE else 2):
        outputs = [each for each in outputs if each is not None and each.requires_grad]
        if outputs:
            cotangents = [opwright.ones_like(each).requires_grad_() for each in outputs]
            outputs = grad(outputs, leaves, cotangents, create_graph=True, allow_unused=True)


@pytest.mark.calls
@pytest.mark.parametrize("name", case_names())
def test_no_operator_leaves_a_cycle(name: str) -> None:
    samples, tried = chosen(name), 0
    for sample in samples:
        try:
            twice(name, sample)
        except Exception:
            gc.collect()  # of the error
            continue
        cycles = gc.collect()
        if cycles:  # a first call may fill caches
            twice(name, sample)
            cycles = gc.collect()
        assert cycles == 0, f"{cycles} objects wait for the collector after {sample}"
        tried += 1
        if tried == SAMPLES_OF_EACH:
            return
    assert tried or not samples, "no sample could be differentiated"


def leaf() -> Tensor:
    return opwright.tensor(np.linspace(0.5, 1.5, 12).reshape(3, 4), requires_grad=True)


def of_views(x: Tensor) -> Tensor:
    rows = x.view(2, 6).t().select(1, 0)[:3].expand(3, 3).unbind(0)
    return opwright.stack(list(rows)).select(1, 2) * x.reshape(-1)[:3]


def of_writes(x: Tensor) -> Tensor:
    y = x * 2.0
    y.mul_(x).add_(1.0).exp_()
    return y.sub(1.0)


def of_writes_to_views(x: Tensor) -> Tensor:
    y = x * 2.0
    part = y[1]
    part.mul_(x[0])
    y.t()[0].exp_()
    return y * part.sum()


def of_saved_results(x: Tensor) -> Tensor:
    return (x.exp().tanh().softmax(0) / x.sqrt()).sigmoid()


def of_composites(x: Tensor) -> Tensor:
    functional = opwright.nn.functional
    q = x.reshape(1, 2, 3, 2)
    attended = functional.scaled_dot_product_attention(q, q, q).reshape(3, 4)
    return functional.cross_entropy(functional.layer_norm(attended, (4,)), opwright.tensor([0, 1, 2]))


class Square(opwright.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        result = x * x
        ctx.save_for_backward(x, result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        x, _ = ctx.saved_tensors
        return gradient * x * 2.0


class Exp(opwright.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x.exp_())
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * ctx.saved_tensors[0]


def of_a_function_that_writes(x: Tensor) -> Tensor:
    whole, part = x * 2.0, x * 3.0
    Exp.apply(whole)
    Exp.apply(part[1])
    return whole * part


GRAPHS = [
    of_views,
    of_writes,
    of_writes_to_views,
    of_saved_results,
    of_composites,
    Square.apply,
    of_a_function_that_writes,
]


@pytest.mark.calls
@pytest.mark.parametrize("passes", ["none", "one", "kept", "twice", "hooked"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_graph_dies_with_its_result(graph: Callable[[Tensor], Tensor], passes: str) -> None:
    def run() -> list[weakref.ref[Any]]:
        x = leaf()
        result = graph(x)
        node = result.grad_fn
        assert isinstance(node, Node)
        seen = [weakref.ref(each) for each in (x, x.untyped_storage(), result, result.untyped_storage())]
        if passes in ("one", "kept"):
            result.sum().backward(retain_graph=passes == "kept")
        elif passes == "twice":
            (first,) = grad(result.sum(), x, create_graph=True)
            (first * first).sum().backward()
        elif passes == "hooked":
            result.register_hook(lambda gradient: gradient * 2.0)
            result.retain_grad()
            result.sum().backward()
        return seen

    run()
    gc.collect()
    assert [each() for each in run()] == [None] * 4
    assert gc.collect() == 0


def test_freed_tensors_are_freed_by_the_backward() -> None:
    """A saved tensor does not outlive a backward that does not keep the graph, though the result does."""
    x = leaf()
    middle = x.exp()
    memory = weakref.ref(middle.untyped_storage())
    result = (middle * middle).sum()
    del middle
    assert memory() is not None
    result.backward()
    assert memory() is None and result.grad_fn is not None
