"""make_fx over transforms records what runs below them; transforms of a graph are those of its function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import opwright
from opwright.func import grad, jvp, vjp, vmap
from opwright.fx import make_fx
from opwright.pytree import tree_leaves

pytestmark = pytest.mark.filterwarnings("ignore:vmap. there is no batching rule")
each_mode = pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
WEIGHT = opwright.tensor([1.0, -2.0, 0.5, 3.0])


def model(x: Any) -> Any:
    return (x.sin() * WEIGHT + opwright.tensor([1.0, 2.0, 3.0, 4.0])).tanh().sum()


TRANSFORMED: dict[str, Callable[..., Any]] = {
    "vmap": vmap(model),
    "grad": grad(lambda x: model(x).sum()),
    "vmap of grad": vmap(grad(model)),
    "grad of vmap": grad(lambda x: vmap(model)(x).sum()),
    "jvp": lambda x: jvp(model, (x,), (x.cos(),)),
    "vjp": lambda x: vjp(lambda y: y.sin() * y, x)[1](x),
}


def check(found: Any, wanted: Any) -> None:
    for one, other in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
        opwright.testing.assert_close(one, other)


@each_mode
@pytest.mark.parametrize("name", TRANSFORMED)
def test_what_runs_below_a_transform_is_recorded(name: str, mode: Any) -> None:
    function = TRANSFORMED[name]
    graph = make_fx(function, tracing_mode=mode)(opwright.ones(3, 4))
    x = opwright.randn(3, 4)
    check(graph(x), function(x))
    assert not [node for node in graph.graph.nodes if "BatchedTensor" in str(node.meta.get("val"))]


def test_a_graph_is_transformed_as_its_function() -> None:
    graph = make_fx(lambda x: (x * x).exp() * WEIGHT)(opwright.ones(4))
    x = opwright.randn(4)
    check(grad(lambda x: graph(x).sum())(x), grad(lambda x: ((x * x).exp() * WEIGHT).sum())(x))
    check(vmap(graph)(opwright.stack([x, x])), opwright.stack([graph(x)] * 2))
