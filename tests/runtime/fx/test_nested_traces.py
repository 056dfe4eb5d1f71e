"""make_fx within a function that make_fx traces: each graph has what its own function calls."""

from __future__ import annotations

from typing import Any

import pytest

import opwright
from opwright.fx import make_fx
from opwright.python_dispatch import TorchDispatchMode

MODES = ("real", "fake", "symbolic")


def names(graph: Any) -> list[str]:
    calls = [node for node in graph.graph.nodes if node.op == "call_function"]
    return [str(node.target).partition(".")[2].partition(".")[0] for node in calls if "aten." in str(node.target)]


def inner(x: Any) -> Any:
    return opwright.sigmoid(x) + opwright.full((3,), 2.0).sum()


@pytest.mark.parametrize("pre_dispatch", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_what_the_inner_trace_runs_is_not_in_the_outer_graph(mode: Any, pre_dispatch: bool) -> None:
    found: list[Any] = []

    def outer(x: Any) -> Any:
        found.append(make_fx(inner, tracing_mode=mode)(x))
        return opwright.digamma(x)

    graph = make_fx(outer, tracing_mode=mode, pre_dispatch=pre_dispatch)(opwright.rand(3))
    assert names(graph) == ["digamma"]
    assert names(found[0]) == ["sigmoid", "full", "sum", "add"]


@pytest.mark.parametrize("mode", MODES)
def test_a_call_of_the_inner_graph_is_in_the_outer_one(mode: Any) -> None:
    def outer(x: Any) -> Any:
        return opwright.digamma(make_fx(inner)(x)(x))

    graph = make_fx(outer, tracing_mode=mode)(opwright.rand(3))
    assert names(graph) == ["sigmoid", "full", "sum", "add", "digamma"]
    x = opwright.rand(3)
    assert graph(x).tolist() == opwright.digamma(inner(x)).tolist()


def test_other_modes_see_both() -> None:
    seen: list[str] = []

    class Listener(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.base)
            return func(*args, **(kwargs or {}))

    def outer(x: Any) -> Any:
        make_fx(opwright.sigmoid)(x)
        return opwright.digamma(x)

    with Listener():
        graph = make_fx(outer)(opwright.rand(3))
    assert names(graph) == ["digamma"]
    assert [name for name in seen if name in ("sigmoid", "digamma")] == ["sigmoid", "digamma"]


def test_an_error_in_the_inner_trace_leaves_the_outer_one_recording() -> None:
    def wrong(x: Any) -> Any:
        raise ValueError("mine")

    def outer(x: Any) -> Any:
        with pytest.raises(ValueError, match="mine"):
            make_fx(wrong)(x)
        return x * 3

    assert names(make_fx(outer)(opwright.rand(3))) == ["mul"]
