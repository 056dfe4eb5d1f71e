"""make_fx: values that operators take out of tensors, and subclasses that hold the tensors of the trace."""

from __future__ import annotations

from typing import Any

import pytest
from handlers import Wrapper

import opwright
from opwright.fx import GraphModule, make_fx

each_mode = pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])


def names(graph: GraphModule) -> list[str]:
    return [str(node.target) for node in graph.graph.find_nodes(op="call_function")]


@pytest.mark.parametrize("pre_dispatch", [False, True])
@pytest.mark.parametrize(
    "read",
    [
        lambda x: opwright.equal(x, x),
        lambda x: opwright.allclose(x, x),
        lambda x: opwright.allclose(opwright.ones(2), x),
        lambda x: x[0].item(),
    ],
)
def test_no_operator_takes_a_value_out_of_a_trace(read: Any, pre_dispatch: bool) -> None:
    with pytest.raises(opwright.DataDependentOutputError, match="depends on the inputs") as raised:
        make_fx(lambda x: x * 2 if read(x) else x, pre_dispatch=pre_dispatch)(opwright.ones(2))
    assert f"asked at {__file__}:" in str(raised.value)


def test_operators_take_values_out_of_constants() -> None:
    two = opwright.tensor([2.0, 2.0])

    def program(x: Any) -> Any:
        made = opwright.tensor([2.0, 2.0]) + 1
        return x * 2 if opwright.equal(two, two) and not opwright.allclose(made, two) else x

    graph = make_fx(program)(opwright.ones(2))
    assert graph(opwright.ones(2)).tolist() == [2.0, 2.0]
    assert not any("equal" in name or "allclose" in name for name in names(graph))


@each_mode
def test_what_a_wrapper_calls_is_recorded(mode: Any) -> None:
    def held(x: Any) -> Any:
        return (Wrapper(x) * x + 1).elem

    graph = make_fx(held, tracing_mode=mode)(opwright.ones(2))
    assert graph(opwright.tensor([5.0, 6.0])).tolist() == [26.0, 37.0]
    assert [name.split(".")[1] for name in names(graph)] == ["mul", "add"]


def test_a_wrapper_from_elsewhere_and_one_that_is_written_to() -> None:
    outside = Wrapper(opwright.tensor([3.0, 4.0]))
    graph = make_fx(lambda x: (x * outside).elem)(opwright.ones(2))
    assert graph(opwright.tensor([5.0, 6.0])).tolist() == [15.0, 24.0]

    def written(x: Any) -> Any:
        total = opwright.zeros(2)
        Wrapper(total).add_(x)
        return total

    assert make_fx(written)(opwright.ones(2))(opwright.tensor([5.0, 6.0])).tolist() == [5.0, 6.0]


def test_a_wrapper_is_an_input_as_it_is() -> None:
    graph = make_fx(lambda x: x * 2)(Wrapper(opwright.ones(2)))
    found = graph(Wrapper(opwright.tensor([5.0, 6.0])))
    assert type(found) is Wrapper and found.elem.tolist() == [10.0, 12.0]


def test_above_autograd_a_wrapper_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"before Wrapper.__torch_dispatch__ sees them"):
        make_fx(lambda x: (Wrapper(x) * 2).elem, pre_dispatch=True)(opwright.ones(2))
