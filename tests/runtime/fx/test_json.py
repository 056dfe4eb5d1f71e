"""Graphs as JSON."""

from __future__ import annotations

import json
import operator
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opwright
from opwright.fx import Graph, GraphModule, JSONFormatError, from_json, make_fx, to_json

aten = opwright.ops.aten


def traced() -> GraphModule:
    def function(d: Any, n: int) -> Any:
        y = d["x"].view(n, -1).to(opwright.float64) * opwright.tensor([2.0, float("nan")])
        return {"a": y.clamp(min=float("-inf")), "b": (y[1:].sum(0), None, 1 - 2j, y.shape[0] // 2)}

    return make_fx(function, tracing_mode="symbolic")({"x": opwright.ones(8)}, 4)


def test_a_graph_reads_back_as_it_was() -> None:
    graph = traced()
    read = from_json(to_json(graph, indent=2))
    assert read.code == graph.code and read.guards == graph.guards and read.to_json() == graph.to_json()
    found, wanted = (each({"x": opwright.ones(12)}, 6) for each in (read, graph))
    opwright.testing.assert_close(found["a"], wanted["a"], equal_nan=True)
    assert found["b"][1:] == wanted["b"][1:] == (None, 1 - 2j, 3)
    assert read.print_readable(False).startswith("class function(opwright.fx.GraphModule)")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64", "bool", "int8", "uint64"])
def test_constants_of_every_dtype(dtype: str) -> None:
    constant = opwright.tensor([[0, 1, 1], [1, 0, 1]], dtype=getattr(opwright, dtype)).t()
    read = from_json(make_fx(lambda x: (x, constant))(opwright.ones(2)).to_json())
    found = read(0)[1]
    assert found.dtype == constant.dtype and found.tolist() == constant.tolist()
    found.zero_()  # the memory is its own


def test_every_kind_of_argument() -> None:
    graph = Graph()
    x = graph.placeholder("x", default_value=2)
    values = [
        x, (x, 1), (), {"a": [x], 1: None}, slice(x, None, 2), ..., 1.5, float("-inf"), 2j, "text", True,
        opwright.bool, opwright.device("cuda:1"), opwright.channels_last, opwright.strided,
    ]  # fmt: skip
    graph.output([values, graph.call_function(operator.add, (graph.call_function(max, (x, 3)), 1))])
    assert repr(from_json(to_json(GraphModule({}, graph)))()) == repr(GraphModule({}, graph)())


def a_graph(**changes: Any) -> str:
    node = {"name": "x", "op": "placeholder", "target": "x"}
    output = {"name": "output", "op": "output", "target": "output", "args": [{"node": "x"}]}
    data = {"format": "opwright.fx", "version": 1, "nodes": [node, output], "constants": {}, **changes}
    return json.dumps({key: value for key, value in data.items() if value is not KeyError}, default=str)


def with_node(**node: Any) -> str:
    nodes = json.loads(a_graph())["nodes"]
    return a_graph(nodes=[nodes[0], {"name": "n", "op": "call_function", "target": "aten::neg", **node}, nodes[1]])


def with_input(target: str, **node: Any) -> str:
    return with_node(**{"op": "placeholder", "target": target, **node})


# What reaches attributes by name or calls what it is given; methods that are no operators.
UNREACHABLE = ("attrgetter", "methodcaller", "itemgetter", "call", "delitem", "length_hint", "iadd", "__add__")
METHODS = (
    "numpy",
    "tofile",
    "backward",
    "register_hook",
    "data_ptr",
    "__class__",
    "as_subclass",
    "requires_grad_",
    "T",
)
NO_INPUTS = ("self", "opwright", "1", "x, y", "x=1", "***x", "ﬁ", "__debug__", "None", "")
NO_TENSORS: list[Any] = [
    {"dtype": "int8", "shape": [2**70, 0], "device": "cpu", "data": ""},
    {"dtype": "int8", "shape": [2**40], "device": "cpu", "data": "AA=="},
    {"dtype": "int8", "shape": [-1], "device": "cpu", "data": "AA=="},
    {"dtype": "bool", "shape": [1], "device": "cpu", "data": "Ag=="},
    {"dtype": "object", "shape": [1], "device": "cpu", "data": "AAAAAAAAAAA="},
]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is no JSON: Expecting value"),
        ("[" * 100_000, "this is no JSON: it is nested too deeply"),
        (b"\xff", "this is no JSON"),
        (None, "this is no JSON"),
        ("[]", 'this JSON is no graph: it has no "format": "opwright.fx"'),
        (a_graph(version=2), "is of version 2 of the format, and this Opwright reads version 1"),
        (a_graph(version=KeyError), "is of version None"),
        (a_graph(nodes=KeyError), "not well made: 'nodes' is missing"),
        (a_graph(constants=3), "constants: an object is expected, but got int"),
        (a_graph(nodes=3), "nodes: a list is expected, but got int"),
        (a_graph(nodes=[3]), "node 0: an object is expected, but got 3"),
        (a_graph(nodes=[]), "the graph has no output"),
        (a_graph(trees={"names": ["x): import os #"], "in": "*", "out": None}), "are no names of parameters"),
        (a_graph(trees={"names": ["x"], "in": {"set": []}, "out": None}), "is no structure of arguments or results"),
        (with_node(op="call"), "node 1: op is one of placeholder, .*, not 'call'"),
        (with_node(name="x"), "node 1: 'x' is no name for a node, or another one has it"),
        (with_node(name="a b"), "'a b' is no name for a node"),
        (with_node(target="aten::negg"), r"node 1 \(n\) calls an operator that is not defined here.*\n.*aten::neg'"),
        (with_node(target="nothere::f"), r"calls an operator that is not defined here: import what defines it first"),
        (with_node(target="os.system"), "calls 'os.system', which no graph calls"),
        (with_node(target="operator.ad"), "which no graph calls; did you mean 'operator.add'"),
        (with_node(target=["x"]), r"calls \['x'\], which no graph calls"),
        (
            with_node(op="call_method", target="__reduce__"),
            "is a name of an operator.*, not '__reduce__'",
        ),
        (with_node(op="get_attr", target="a.__class__"), "the target of a get_attr is a name"),
        (with_node(op="get_attr", target="w"), "the node n reads the attribute 'w', which the root"),
        (with_node(args=[{"node": "y"}]), r"node 1 \(n\) reads 'y', and no node before it has that name"),
        (with_node(args=[{"dtype": "float33"}]), "'float33' is no dtype: there is no such dtype"),
        (with_node(args=[{"device": "moon:1"}]), "'moon:1' is no device"),
        (with_node(args=[{"what": 1}]), "'what' is no kind of argument"),
        (
            with_node(args=[{"tensor": {"dtype": "int8", "shape": [2], "device": "", "data": "AA=="}}]),
            "is no tensor",
        ),
        (with_node(args=3), "a list is expected, but got int"),
        *[(with_node(target=f"operator.{name}"), f"calls 'operator.{name}', which no") for name in UNREACHABLE],
        *[(with_node(op="call_method", target=name), "target of a call_method is a name of an op") for name in METHODS],
        (with_node(op="call_module", target="w"), "no constant of JSON can be called"),
        *[(a_graph(constants={name: 1}), f"constants: '{name}' is") for name in ("__class__", "a.__dict__", "1", "ﬁ")],
        *[(a_graph(constants={name: 1}), "a name of GraphModule's own") for name in ("forward", "_graph", "code.x")],
        (
            a_graph(constants={"a": 1, "a.requires_grad": 2}),
            "constants: 'a.requires_grad' lies within another constant",
        ),
        *[(with_input(target), "the target of a placeholder is a name") for target in NO_INPUTS],
        (with_input("y", name="self"), "'self' is no name for a node"),
        (with_input("y", name="\uff4f\uff50wright"), "is no name for a node"),
        (with_input("x"), "the input n: another one is called 'x' too"),
        (with_input("*x", args=[1]), "stands where it may not"),
        (with_input("y", args=[{"node": "x"}]), "a default is a constant"),
        (with_node(args=[10**400]), r"node 1 \(n\) has an int of more than 64 bits"),
        (with_node(args=[{"tuple": [-(2**63) - 1]}]), "int of more than 64 bits"),
        (with_node(kwargs={"a b": 1}), "kwargs: 'a b' is no name of an argument"),
        (with_node(kwargs=3), "kwargs: an object is expected"),
        (a_graph(name="x(): import os #"), "is no name of a function"),
        (a_graph(trees={"names": ["opwright"], "in": {"list": ["*"]}, "out": None}), "are no names of parameters"),
        *[(with_node(args=[{"tensor": each}]), "is no tensor") for each in NO_TENSORS],
    ],
)
def test_malformed_text_is_told_in_plain_words(text: Any, message: str) -> None:
    with pytest.raises(JSONFormatError) as raised:
        from_json(text)
    assert re.search(message, str(raised.value)), str(raised.value)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_changed_text_is_read_or_refused(data: Any) -> None:
    """Whatever is exchanged in a graph's JSON, the answer is a graph or a JSONFormatError."""
    text = a_graph() if data.draw(st.booleans()) else traced().to_json()
    values: list[tuple[Any, Any]] = []

    def collect(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            values.append((value, key))
            collect(value[key])

    whole = json.loads(text)
    collect(whole)
    holder, key = data.draw(st.sampled_from(values))
    holder[key] = data.draw(
        st.sampled_from([None, 0, -1, "", "x", "self", [], {}, ["x"], {"node": "x"}, {"tuple": 3}, 1e400, "aten::add"])
    )
    try:
        read = from_json(json.dumps(whole))
    except JSONFormatError:
        return
    assert isinstance(read.code, str)


def test_methods_are_called_on_tensors_alone() -> None:
    text = with_node(op="call_method", target="sum", args=[{"node": "x"}, 0])
    text = text.replace('"args": [{"node": "x"}]}]', '"args": [{"node": "n"}]}]')
    read = from_json(text)
    assert read(opwright.ones(3)).item() == 3 and from_json(read.to_json())(opwright.ones(2)).item() == 2

    class Other:
        def sum(self, dim: int) -> int:
            raise AssertionError("it was called")

    with pytest.raises(TypeError, match="the graph calls the method sum of Other: graphs that from_json read call"):
        read(Other())


def test_what_json_cannot_hold_is_named() -> None:
    graph = Graph()
    graph.output(graph.call_function(lambda: 3, name="three"))
    with pytest.raises(JSONFormatError, match=r"the node three calls <function .*>, which JSON cannot hold"):
        to_json(GraphModule({}, graph))
    graph = Graph()
    graph.output([object])
    with pytest.raises(JSONFormatError, match="the node output has type <class 'object'>, which JSON cannot hold"):
        to_json(GraphModule({}, graph))
