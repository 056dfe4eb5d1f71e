"""Graphs by hand: nodes and their users, order, names, dead code, code, modules."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import traceback
import weakref
from typing import Any

import pytest

import opwright
from opwright.fx import Graph, GraphModule, Interpreter, Node, Transformer, has_side_effect, map_arg
from opwright.fx.immutable import immutable_list

aten = opwright.ops.aten


@pytest.fixture
def graph() -> Graph:
    """`relu(x + w) * 2`."""
    made = Graph()
    x = made.placeholder("x")
    w = made.get_attr("w")
    total = made.call_function(aten.add.Tensor, (x, w))
    positive = made.call_method("relu", (total,))
    made.output(made.call_function(operator.mul, (positive, 2)))
    return made


@pytest.fixture
def module(graph: Graph) -> GraphModule:
    return GraphModule({"w": opwright.tensor([1.0, -5.0])}, graph)


def named(graph: Graph, name: str) -> Node:
    return next(node for node in graph.nodes if node.name == name)


def test_nodes_are_in_order_and_know_their_users(graph: Graph) -> None:
    assert [(node.op, node.name) for node in graph.nodes] == [
        ("placeholder", "x"), ("get_attr", "w"), ("call_function", "add"), ("call_method", "relu"),
        ("call_function", "mul"), ("output", "output"),
    ]  # fmt: skip
    x, add, relu = named(graph, "x"), named(graph, "add"), named(graph, "relu")
    assert list(x.users) == [add] and add.all_input_nodes == [x, named(graph, "w")] and list(add.users) == [relu]
    assert add.next is relu and relu.prev is add and len(graph.nodes) == 6
    assert [node.name for node in reversed(graph.nodes)][:2] == ["output", "mul"]
    graph.lint()


def test_arguments_are_nested_and_cannot_be_changed_in_place() -> None:
    graph = Graph()
    x, n = graph.placeholder("x"), graph.placeholder("n")
    node = graph.call_function(print, ([x, (n, 1)], slice(n, None)), {"sep": {"a": x}})
    assert node.all_input_nodes == [x, n] and node.args == ([x, (n, 1)], slice(n, None))
    with pytest.raises(TypeError, match=r"immutable_list cannot be changed: .* assign node\.args"):
        node.args[0].append(x)
    with pytest.raises(TypeError, match="immutable_dict cannot be changed"):
        node.kwargs["end"] = ""
    node.args = ([n],)
    node.update_kwarg("sep", "")
    assert list(x.users) == [] and list(n.users) == [node]
    assert pickle.loads(pickle.dumps(immutable_list([1]))) == [1] and hash(immutable_list([1])) is not None
    assert map_arg({"a": [n, 3]}, lambda each: each.name) == {"a": ["n", 3]}


def test_uses_are_replaced_and_nodes_inserted_and_erased(module: GraphModule) -> None:
    graph, x = module.graph, opwright.tensor([2.0, 3.0])
    relu = named(graph, "relu")
    with graph.inserting_after(relu):
        tanh = graph.call_function(aten.tanh.default, (relu,))
    assert relu.replace_all_uses_with(tanh, lambda user: user is not tanh) == [named(graph, "mul"), tanh]
    with graph.inserting_before(relu):
        neg = graph.call_function(aten.neg.default, (named(graph, "add"),))
    relu.replace_input_with(named(graph, "add"), neg)
    graph.lint()
    module.recompile()
    opwright.testing.assert_close(module(x), (-(x + module.w)).relu().tanh() * 2)
    with pytest.raises(RuntimeError, match="neg cannot be erased: it is read by relu"):
        graph.erase_node(neg)
    tanh.replace_all_uses_with(relu)
    graph.erase_node(tanh)
    assert tanh not in list(graph.nodes) and len(graph.nodes) == 7
    relu.prepend(named(graph, "w"))
    assert named(graph, "w").next is relu
    graph.call_function(aten.neg.default, (relu,))  # after the output
    with pytest.raises(RuntimeError, match="add reads w, which does not come before it"):
        graph.lint()


def test_names_are_free_and_no_words_of_python() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    names = [
        graph.call_function(function, (x,)).name
        for function in (aten.add.Scalar, aten.add.Tensor, aten.sum.default, aten.max.default, opwright.relu, len)
    ]
    assert names == ["add", "add_1", "sum_1", "max_1", "relu", "len_1"]
    assert graph.create_node("call_function", print, name="add_1").name == "add_2"
    assert graph.create_node("call_function", print, name="1 x").name == "_1_x"
    assert graph.create_node("call_function", print, name="class").name == "class_1"
    assert graph.placeholder("input").name == "input_1" and graph.placeholder("*args").name == "args"


def test_dead_code_but_for_writes_random_numbers_and_effects(define: Any) -> None:
    log = define("log(Tensor x) -> ()")
    kept = has_side_effect(define("count(Tensor x) -> ()"))
    graph = Graph()
    x = graph.placeholder("x")
    graph.placeholder("unused")
    graph.call_function(log, (x,))  # nothing says that it has an effect
    graph.call_function(kept, (x,))
    graph.call_function(aten.rand.default, ([3],))
    y = graph.call_function(aten.clone.default, (x,))
    graph.call_function(aten.add_.Scalar, (y, 1))
    graph.call_function(aten.mul.out, (x, x), {"out": y})
    graph.call_function(aten.sin.default, (graph.call_function(aten.cos.default, (x,)),))
    graph.call_function(aten._assert_async.default, (x,))
    graph.call_method("zero_", (x,))
    graph.call_method("neg", (x,))
    graph.output(x)
    assert graph.eliminate_dead_code()
    assert [node.name for node in graph.nodes] == [
        "x", "unused", "count", "rand", "clone", "add_", "mul", "_assert_async", "zero_", "output",
    ]  # fmt: skip
    assert not graph.eliminate_dead_code()
    assert graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
    assert [node.op for node in graph.nodes] == ["placeholder", "placeholder", "output"]


def test_code_is_python_that_runs_by_itself(module: GraphModule) -> None:
    names: dict[str, Any] = {}
    exec(module.code, names)
    x = opwright.tensor([1.0, 2.0])
    assert names["forward"](module, x).tolist() == module(x).tolist() == [4.0, 0.0]
    assert module.code == (
        "import opwright\n\n\n"
        "def forward(self, x):\n"
        "    w = self.w\n"
        "    add = opwright.ops.aten.add.Tensor(x, w);  x = w = None\n"
        "    relu = add.relu();  add = None\n"
        "    mul = relu * 2;  relu = None\n"
        "    return mul\n"
    )


def test_every_kind_of_argument_is_written() -> None:
    graph = Graph()
    x = graph.placeholder("x", default_value=-1.5)
    values = (
        1, -2, True, None, "it's", b"b", 2.5, float("inf"), float("nan"), -0.0, 1 - 2j, complex("inf"), slice(x, None),
        ..., opwright.float32, opwright.bfloat16, opwright.bool, opwright.device("cuda:1"), opwright.preserve_format,
        opwright.strided, (x,), (), [x, [1]], {"a": (x, 1)}, int,
    )  # fmt: skip
    seen: list[Any] = []
    graph.call_function(seen.append, (values,))
    graph.call_function(aten.random_.default, (x,))
    getattr(aten.random_, "from")
    graph.output((graph.call_function(operator.getitem, (x, slice(1, None))), graph.call_function(operator.neg, (x,))))
    module = GraphModule({}, graph)
    graph.erase_node(graph.find_nodes(op="call_function", target=aten.random_.default)[0])
    module.recompile()
    y = opwright.ones(3)
    module(y)
    wanted = map_arg(values, lambda node: y)
    assert repr(seen[0]) == repr(wanted) and seen[0][0] == 1


def test_functions_that_no_import_gives_run_too() -> None:
    def local(value: Any) -> Any:
        return value + 1

    graph = Graph()
    x = graph.placeholder("x")
    one = graph.call_function(local, (x,))
    graph.output(graph.call_function(lambda a: a * 10, (one,), name="times"))
    assert GraphModule({}, graph)(2) == 30


def test_an_operator_whose_overload_is_a_word_of_python() -> None:
    graph = Graph()
    graph.output(graph.call_function(getattr(aten.random_, "from"), (graph.placeholder("x"), 3, 4)))
    module = GraphModule({}, graph)
    assert "getattr(opwright.ops.aten.random_, 'from')" in module.code
    assert module(opwright.zeros(2)).tolist() == [3.0, 3.0]


def test_names_of_parameters_stay_what_callers_know() -> None:
    graph = Graph()
    first, rest, others = graph.placeholder("input"), graph.placeholder("*rest"), graph.placeholder("**others")
    graph.output([first, rest, others])
    assert GraphModule({}, graph)(input=1, other=2) == [1, (), {"other": 2}]


def test_attributes_are_found_by_path_and_missing_ones_named(graph: Graph) -> None:
    with pytest.raises(RuntimeError, match="the node w reads the attribute 'w', which the root"):
        GraphModule({}, graph)

    class Root:
        block = type("Block", (), {"weight": 3, "call": staticmethod(lambda x: x + 1)})

    other = Graph()
    x = other.placeholder("x")
    other.output((other.get_attr("block.weight"), other.call_module("block.call", (x,))))
    module = GraphModule(Root(), other)
    assert module(1) == (3, 2) and Interpreter(module).run(1) == (3, 2)
    del module.block.weight
    with pytest.raises(RuntimeError, match=r"reads the attribute block\.weight, which the module does not have"):
        other.lint()


def test_modules_pickle_and_deepcopy(module: GraphModule) -> None:
    x = opwright.tensor([1.0, 2.0])
    named(module.graph, "relu").meta["stack_trace"] = "there"
    for made in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module), copy.copy(module)):
        assert made.code == module.code and made(x).tolist() == module(x).tolist()
        assert named(made.graph, "relu").stack_trace == "there"
        made.graph.lint()
        named(made.graph, "mul").update_arg(1, 3)
        made.recompile()
        assert made(x).tolist() == [6.0, 0.0] and module(x).tolist() == [4.0, 0.0]
    assert copy.copy(module).w is module.w and copy.deepcopy(module).w is not module.w


def test_a_long_graph_pickles_deepcopies_and_prints() -> None:
    graph = Graph()
    node = graph.placeholder("x")
    for _ in range(3000):
        node = graph.call_function(operator.add, (node, 1))
    graph.output(node)
    module = GraphModule({}, graph)
    assert copy.deepcopy(module)(0) == pickle.loads(pickle.dumps(module))(0) == 3000
    assert len(str(graph).splitlines()) == 3003


def test_a_module_and_its_constants_are_gone_when_nobody_has_it(graph: Graph) -> None:
    gc.disable()
    try:
        module = GraphModule({"w": opwright.ones(2)}, graph)
        module(opwright.ones(2))
        gone, constant = weakref.ref(module), weakref.ref(module.w)
        del module
        assert gone() is None and constant() is None and graph.owning_module is None
    finally:
        gc.enable()


def test_tracebacks_show_the_line_of_the_graph(module: GraphModule) -> None:
    with pytest.raises(RuntimeError) as raised:
        module(opwright.ones(3))
    assert "add = opwright.ops.aten.add.Tensor(x, w)" in "".join(traceback.format_exception(raised.value))


def test_graphs_are_copied_into_graphs(graph: Graph) -> None:
    other = Graph()
    x = other.placeholder("x")
    result = other.graph_copy(graph, {named(graph, "x"): x})
    other.output(other.graph_copy(graph, {named(graph, "x"): result}))
    w = opwright.tensor([1.0, 1.0])
    assert GraphModule({"w": w}, other)(opwright.zeros(2)).tolist() == [6.0, 6.0]
    other.lint()


def test_interpreters_run_graphs_and_name_the_node_of_an_error(module: GraphModule) -> None:
    class Negative(Interpreter):
        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            return -super().call_method(target, args, kwargs)

    x = opwright.tensor([1.0, 2.0])
    interpreter = Negative(module)
    assert interpreter.run(x).tolist() == [-4.0, 0.0] and len(interpreter.env) < 4
    assert Interpreter(module).run(initial_env={named(module.graph, "relu"): 5, named(module.graph, "x"): x}) == 10
    with pytest.raises(RuntimeError) as raised:
        Interpreter(module).run(opwright.ones(3))
    assert "While running the node %add" in raised.value.__notes__[-1]
    with pytest.raises(RuntimeError, match="an argument is missing: the graph's input x"):
        Interpreter(module).run()


def test_transformers_make_another_graph(module: GraphModule) -> None:
    class Sine(Transformer):
        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            return self.new_graph.call_function(aten.sin.default, args)

    made = Sine(module).transform()
    x = opwright.tensor([1.0, 2.0])
    opwright.testing.assert_close(made(x), (x + module.w).sin() * 2)
    assert Transformer(module).transform().code == module.code


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: g.create_node("call", "x"), "a node is one of placeholder, .*, not 'call'"),
        (lambda g: g.call_function("add"), "a call_function node has a function as its target, but got 'add'"),
        (lambda g: g.create_node("get_attr", len), "the target of a get_attr node is a name, but got builtin_"),
        (lambda g: g.inserting_before(Graph().placeholder("x")), "x is a node of another graph"),
        (lambda g: g.output_node(), "the graph has no output: add one with"),
        (lambda g: GraphModule({}, g).__setattr__("graph", 3), "a GraphModule has a Graph, but got int"),
        (lambda g: has_side_effect("log"), "expects a function or an operator, got str"),
        (lambda g: copy.copy(g.placeholder("x")), r"a node is copied into a graph: graph\.node_copy"),
        (lambda g: pickle.dumps(g.placeholder("x")), "a node is part of its graph"),
    ],
)
def test_errors_say_what_is_right(make: Any, message: str) -> None:
    with pytest.raises((ValueError, RuntimeError, TypeError), match=message):
        make(Graph())


def test_graphs_are_printed(module: GraphModule, capsys: pytest.CaptureFixture[str]) -> None:
    assert str(module.graph).splitlines()[3] == (
        "    %add : [num_users=1] = call_function[target=opwright.ops.aten.add.Tensor](args = (%x, %w), kwargs = {})"
    )
    module.graph.print_tabular()
    module.print_readable()
    shown = capsys.readouterr().out
    assert "call_method    relu    relu" in shown and "class GraphModule(opwright.fx.GraphModule):" in shown
    assert repr(module) == "<GraphModule GraphModule: 6 nodes>" and "def forward(self, x):" in str(module)
