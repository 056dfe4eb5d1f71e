"""make_fx: what is recorded, and how; constants, trees, backward passes, sizes, data."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import opwright
from opwright.fake import FakeTensorMode
from opwright.fx import GraphModule, Interpreter, from_json, make_fx, symbolic_trace
from opwright.library import custom_op
from opwright.symbolic import ShapeEnv

aten = opwright.ops.aten
MODES = ("real", "fake", "symbolic")
each_mode = pytest.mark.parametrize("mode", MODES)


def calls(graph: GraphModule) -> list[str]:
    """What is called, in order."""
    return [
        str(node.target) if isinstance(node.target, opwright.dispatch.Operator) else node.target.__name__
        for node in graph.graph.find_nodes(op="call_function")
    ]


def body(graph: GraphModule) -> list[str]:
    """The lines of the code without what is set to None."""
    return [re.sub(r";  .*|    ", "", line) for line in graph.code.partition("def forward")[2].splitlines()[1:]]


# What is recorded


@each_mode
def test_operators_are_recorded_below_composites(mode: Any) -> None:
    graph = make_fx(lambda x, w: opwright.nn.functional.linear(x, w).softmax(-1) + 1, tracing_mode=mode)(
        opwright.ones(2, 3), opwright.ones(4, 3)
    )
    assert body(graph) == [
        "t = opwright.ops.aten.t.default(w_1)",
        "mm = opwright.ops.aten.mm.default(x_1, t)",
        "_softmax = opwright.ops.aten._softmax.default(mm, -1, False)",
        "add = opwright.ops.aten.add.Scalar(_softmax, 1)",
        "return add",
    ]


@each_mode
def test_defaults_are_left_out_and_keyword_only_arguments_named(mode: Any) -> None:
    def function(x: Any) -> Any:
        return x.sum(0, True), opwright.add(x, x, alpha=2), opwright.zeros(2, dtype=opwright.int64), x.argmax(dim=None)

    graph = make_fx(function, tracing_mode=mode)(opwright.ones(2, 3))
    assert body(graph)[:-1] == [
        "sum_1 = opwright.ops.aten.sum.dim_IntList(x_1, [0], True)",
        "add = opwright.ops.aten.add.Tensor(x_1, x_1, alpha = 2)",
        "zeros = opwright.ops.aten.zeros.default([2], dtype = opwright.int64)",
        "argmax = opwright.ops.aten.argmax.default(x_1)",
    ]


@each_mode
def test_writes_and_views_are_recorded_as_such(mode: Any) -> None:
    def function(x: Any) -> Any:
        y = x.clone()
        y[0].mul_(2)
        y.t_()
        z = y + 1
        y.zero_()
        return z

    x = opwright.ones(2, 3)
    graph = make_fx(function, tracing_mode=mode)(x)
    assert calls(graph) == [
        "aten.clone.default", "aten.select.int", "aten.mul_.Scalar", "aten.t_.default", "aten.add.Scalar",
        "aten.zero_.default",
    ]  # fmt: skip
    graph.graph.eliminate_dead_code()
    assert len(calls(graph)) == 6 and graph(x).tolist() == function(x).tolist()


@each_mode
def test_writes_to_inputs_are_the_graphs_too(mode: Any) -> None:
    graph = make_fx(lambda x: x.add_(1), tracing_mode=mode)(opwright.zeros(2))
    x = opwright.tensor([5.0, 6.0])
    assert graph(x) is x and x.tolist() == [6.0, 7.0]


@each_mode
def test_a_backward_pass_records_formulas_and_saved_tensors_are_nodes(mode: Any) -> None:
    def function(x: Any, w: Any) -> Any:
        loss = (x @ w).tanh().exp().sum()
        return opwright.autograd.grad(loss, (x, w))

    def inputs() -> Any:
        return [opwright.full((2, 3), 0.1, requires_grad=True), opwright.full((3, 4), 0.2, requires_grad=True)]

    graph = make_fx(function, tracing_mode=mode)(*inputs())
    assert not [name for name in vars(graph) if "constant" in name]
    for found, wanted in zip(graph(*inputs()), function(*inputs()), strict=True):
        opwright.testing.assert_close(found, wanted)


@each_mode
def test_gradients_are_stored_by_operators(mode: Any) -> None:
    def function(x: Any) -> Any:
        (x * x).sum().backward()
        (x * 3).sum().backward()
        return x.grad

    graph = make_fx(function, tracing_mode=mode)(opwright.ones(2, requires_grad=True))
    assert graph(opwright.tensor([1.0, 2.0], requires_grad=True)).tolist() == [5.0, 7.0]


@each_mode
def test_custom_operators_stay_whole_and_their_formulas_are_recorded(mode: Any) -> None:
    @custom_op("fxtest::cube", mutates_args=())
    def cube(x: opwright.Tensor) -> opwright.Tensor:
        return opwright.from_numpy(x.detach().numpy() ** 3)

    @cube.register_fake
    def _(x: Any) -> Any:
        return opwright.empty_like(x)

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2  # what is recorded

    cube.register_autograd(backward, setup_context=setup)

    def function(x: Any) -> Any:
        y = cube(x)
        return y, opwright.autograd.grad(y.sum(), x)[0]

    x = opwright.tensor([1.0, 2.0], requires_grad=True)
    graph = make_fx(function, tracing_mode=mode)(x)
    assert calls(graph).count("fxtest.cube.default") == calls(graph).count("aten.pow.Tensor_Scalar") == 1
    y = opwright.tensor([3.0, -1.0], requires_grad=True)
    assert [each.tolist() for each in graph(y)] == [[27.0, -1.0], [27.0, 3.0]]


@each_mode
def test_decompositions_are_recorded_in_place_of_operators(mode: Any) -> None:
    table = {aten.tanh.default: lambda x: (x.exp() - (-x).exp()) / (x.exp() + (-x).exp())}
    x = opwright.tensor([0.5])
    graph = make_fx(lambda x: x.tanh().neg(), table, tracing_mode=mode)(x)
    assert "aten.tanh.default" not in calls(graph) and calls(graph)[-1] == "aten.neg.default"
    opwright.testing.assert_close(graph(x), -x.tanh())
    kept = make_fx(lambda x: x.tanh(), {aten.tanh.default: lambda x: NotImplemented}, tracing_mode=mode)(x)
    assert calls(kept) == ["aten.tanh.default"]


@each_mode
def test_results_that_are_several(mode: Any) -> None:
    x = opwright.tensor([[3.0, 1.0], [2.0, 5.0]])
    graph = make_fx(lambda x: (x.topk(1)[0], x.split(1), x.unbind(1)[1]), tracing_mode=mode)(x)
    found = graph(x)
    assert found[0].tolist() == [[3.0], [5.0]] and len(found[1]) == 2 and found[2].tolist() == [1.0, 5.0]


def test_a_graph_is_traced_again_as_it_is() -> None:
    def function(x: Any, y: Any) -> Any:
        z = opwright.cat([x, y]).mul_(2)
        return z[1:].sum(0), z.shape[0]

    inputs = opwright.ones(3, 2), opwright.ones(4, 2)
    first = make_fx(function, tracing_mode="symbolic")(*inputs)
    again = make_fx(first, tracing_mode="symbolic")(*inputs)
    interpreted = make_fx(Interpreter(first).run, tracing_mode="symbolic")(*inputs)
    assert calls(again) == calls(interpreted) == calls(first)


@each_mode
def test_above_autograd_what_is_called_is_recorded_whole(mode: Any) -> None:
    def function(x: Any, w: Any) -> Any:
        y = opwright.nn.functional.linear(x, w).softmax(-1) * opwright.tensor(2.0)
        return y.contiguous(), y.sum()

    inputs = opwright.ones(2, 3), opwright.ones(4, 3, requires_grad=True)
    graph = make_fx(function, tracing_mode=mode, pre_dispatch=True)(*inputs)
    assert [name for name in calls(graph) if "sym_size" not in name][:5] == [
        "aten.linear.default", "aten.softmax.int", "aten.lift_fresh_copy.default", "aten.mul.Tensor",
        "aten.contiguous.default",
    ]  # fmt: skip
    for found, wanted in zip(graph(*inputs), function(*inputs), strict=True):
        opwright.testing.assert_close(found, wanted)
    with pytest.raises(opwright.DataDependentOutputError):
        make_fx(lambda x: x.tolist(), tracing_mode=mode, pre_dispatch=True)(opwright.ones(2))
    with pytest.raises(RuntimeError, match="Leave pre_dispatch out, and formulas are recorded"):
        make_fx(lambda x: opwright.autograd.grad(x.sin().sum(), x), tracing_mode=mode, pre_dispatch=True)(inputs[1])
    table = {aten.softmax.int: lambda x, dim: x.exp() / x.exp().sum(dim, True)}
    assert "aten.exp.default" in calls(make_fx(function, table, mode, pre_dispatch=True)(*inputs))


@pytest.mark.parametrize("function", [lambda x: x.shape, lambda x: x.size(), lambda x: [x.shape, (x.shape[1:],)]])
def test_sizes_that_a_trace_returns_are_those_of_its_inputs(function: Any) -> None:
    graph = make_fx(function, tracing_mode="symbolic")(opwright.ones(2, 3))
    assert graph(opwright.ones(4, 5)) == function(opwright.ones(4, 5))
    assert from_json(graph.to_json())(opwright.ones(4, 5)) == function(opwright.ones(4, 5))


def test_symbolic_trace_records_calls_with_symbolic_sizes() -> None:
    graph = symbolic_trace(lambda x: x.flatten().softmax(0) * x.shape[0], opwright.ones(2, 3))
    assert calls(graph) == ["aten.sym_size.int", "aten.flatten.using_ints", "aten.softmax.int", "aten.mul.Scalar"]
    assert graph(opwright.ones(3, 5)).shape == (15,)
    with pytest.raises(TypeError, match="takes 1 positional arguments, but 0 were given, and x is missing"):
        symbolic_trace(lambda x: x)


# Constants


@each_mode
def test_constants_become_attributes_one_for_each_memory(mode: Any) -> None:
    w = opwright.tensor([1.0, 2.0])
    graph = make_fx(lambda x: x * w + w.detach() + w[0], tracing_mode=mode)(opwright.ones(2))
    assert graph._tensor_constant0 is w and not hasattr(graph, "_tensor_constant1")
    w.mul_(10)
    assert graph(opwright.ones(2)).tolist() == [30.0, 50.0]


@each_mode
def test_what_tensor_makes_is_made_anew_by_each_run(mode: Any) -> None:
    def function(x: Any) -> Any:
        total = opwright.tensor([0.0, 1.0])
        total.add_(x)
        return total

    graph = make_fx(function, tracing_mode=mode)(opwright.ones(2))
    assert calls(graph) == ["aten.lift_fresh_copy.default", "aten.add_.Tensor"]
    for _ in range(2):
        assert graph(opwright.ones(2)).tolist() == [1.0, 2.0]


@each_mode
def test_data_from_elsewhere_is_a_constant(mode: Any) -> None:
    array = np.array([1.0, 2.0], np.float32)

    def function(x: Any) -> Any:
        return x + opwright.from_numpy(array), x[[1, 0]], opwright.ops.aten.add.Tensor(x, 2.5), x.new_tensor([7])

    graph = make_fx(function, tracing_mode=mode)(opwright.zeros(2))
    found = graph(opwright.tensor([10.0, 20.0]))
    assert [each.tolist() for each in found] == [[11.0, 22.0], [20.0, 10.0], [12.5, 22.5], [7.0]]


@each_mode
def test_the_same_tensor_given_twice_is_one_and_a_guard_says_so(mode: Any) -> None:
    x = opwright.ones(2)
    graph = make_fx(lambda a, b: a + b, tracing_mode=mode)(x, x)
    assert graph.guards is not None and graph.guards.fits(x, x)
    assert graph.guards.check(x, opwright.ones(2)) == ["b_1 is a_1"]


@each_mode
def test_a_generator_is_kept(mode: Any) -> None:
    generator = opwright.Generator().manual_seed(3)
    graph = make_fx(lambda x: x + opwright.rand(2, generator=generator), tracing_mode=mode)(opwright.zeros(2))
    generator.manual_seed(5)
    wanted = opwright.rand(2, generator=generator).tolist()
    generator.manual_seed(5)
    assert graph(opwright.zeros(2)).tolist() == wanted


@each_mode
def test_casts_that_a_region_of_autocast_keeps_are_no_constants(mode: Any) -> None:
    def function(x: Any, w: Any) -> Any:
        return x @ w + x @ w

    x, w = opwright.ones(2, 2), opwright.ones(2, 2, requires_grad=True)
    with opwright.autocast("cpu"):
        function(x, w)  # the region keeps w in bfloat16
        graphs = [make_fx(function, tracing_mode=mode, pre_dispatch=above)(x, w) for above in (False, True)]
    for graph in graphs:
        assert not hasattr(graph, "_tensor_constant0")
        assert graph(x, opwright.full((2, 2), 3.0)).tolist() == [[12.0, 12.0]] * 2


# Trees


class Pair(NamedTuple):
    first: Any
    second: Any


@each_mode
def test_trees_in_and_out(mode: Any) -> None:
    def function(d: Any, rest: Any, n: int) -> Any:
        total = d["a"] + rest[0].second * n
        return OrderedDict(total=total, pair=Pair(total.sum(), [None, 3, "text"])), ()

    def arguments() -> Any:
        return {"a": opwright.ones(2)}, [Pair(opwright.zeros(1), opwright.full((2,), 2.0))], 4

    graph = make_fx(function, tracing_mode=mode)(*arguments())
    for made in (graph, pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        found, empty = made(*arguments())
        assert type(found) is OrderedDict and type(found["pair"]) is Pair and empty == ()
        assert found["total"].tolist() == [9.0, 9.0] and found["pair"].second == [None, 3, "text"]
        assert Interpreter(made).run(*arguments())[0]["total"].tolist() == [9.0, 9.0]
    with pytest.raises(ValueError, match="the graph was traced for arguments of another structure"):
        graph({"b": opwright.ones(2)}, arguments()[1], 4)
    assert graph.guards is not None and graph.guards.fits(*arguments()) and not graph.guards.fits(1, 2, 3)
    assert [node.name for node in graph.graph.find_nodes(op="placeholder")] == ["d_1", "rest_1", "rest_2", "n_1"]


def test_names_of_inputs_and_wrong_arguments() -> None:
    def names(function: Any, *args: Any) -> list[str]:
        return [node.name for node in make_fx(function)(*args).graph.find_nodes(op="placeholder")]

    assert names(lambda x, input: x, 1, 2) == ["x_1", "input_1"]
    assert names(lambda *args: args, 1, 2) == ["arg0_1", "arg1_1"]
    assert names(lambda x, y=3: x + y, 1) == ["x_1"]
    assert names(print, 1) == ["arg0_1"]
    assert make_fx(lambda: opwright.ones(2))()().tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="takes 1 positional arguments, but 2 were given"):
        names(lambda x: x, 1, 2)
    with pytest.raises(TypeError, match="takes 2 positional arguments, but 1 were given, and y, k is missing"):
        names(lambda x, y, *, k: x, 1)
    with pytest.raises(ValueError, match="tracing_mode is one of 'real', 'fake', 'symbolic', not 'both'"):
        make_fx(len, tracing_mode="both")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="make_fx expects a function, got int 3"):
        make_fx(3)  # type: ignore[arg-type]


# Sizes


def test_sizes_are_read_off_tensors_and_their_arithmetic_is_recorded() -> None:
    def function(x: Any, y: Any) -> Any:
        z = opwright.cat([x, y])
        return z.view(z.shape[0] * z.shape[1]), x.new_zeros(z.shape[0] - 1, x.shape[1] // 2), max(x.shape[1], 2)

    graph = make_fx(function, tracing_mode="symbolic")(opwright.ones(3, 4), opwright.ones(5, 4))
    a, b = opwright.ones(2, 6), opwright.ones(7, 6)
    assert [getattr(each, "shape", each) for each in graph(a, b)] == [(54,), (8, 3), 6]
    assert calls(graph).count("aten.sym_size.int") == 3 and "aten.cat.default" in calls(graph)
    val = next(node for node in graph.graph.nodes if node.name == "cat").meta["val"]
    assert str(list(val.shape)) == "[s0 + s2, s1]" and val.dtype == opwright.float32


def test_equal_sizes_are_one_symbol_and_sizes_of_0_and_1_are_constants() -> None:
    graph = make_fx(lambda x, y: x + y, tracing_mode="symbolic")(opwright.ones(3, 1), opwright.ones(3, 3))
    shapes = [list(node.meta["val"].shape) for node in graph.graph.find_nodes(op="placeholder")]
    assert str(shapes) == "[[s0, 1], [s0, s0]]"
    assert graph.guards is not None
    assert graph.guards.fits(opwright.ones(5, 1), opwright.ones(5, 5))
    assert graph.guards.check(opwright.ones(5, 1), opwright.ones(5, 4)) == [
        "y_1.size(1) == s0 = 5, but it is 4", "y_1.stride(0) == s0 = 5, but it is 4",
    ]  # fmt: skip
    assert graph.guards.check(opwright.ones(5, 2), opwright.ones(5, 5))[0] == "x_1.size(1) == 1, but it is 2"


def test_branches_on_sizes_are_guards_with_their_line() -> None:
    def function(x: Any) -> Any:
        if x.shape[0] > 3:  # the branch
            return x.sum(0)
        return x * 2

    graph = make_fx(function, tracing_mode="symbolic")(opwright.ones(5, 2))
    assert graph.guards is not None
    (failed,) = graph.guards.check(opwright.ones(3, 2))
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.endswith("# the branch"))
    assert failed == f"s0 > 3  ({__file__}:{line})"
    assert graph.guards.fits(opwright.ones(9, 2)) and graph(opwright.ones(9, 2)).tolist() == [9.0, 9.0]
    kept = pickle.loads(pickle.dumps(graph)).guards
    assert kept == graph.guards == from_json(graph.to_json()).guards and kept.check(opwright.ones(3, 2)) == [failed]
    assert str(graph.guards).splitlines() == [
        "x_1: float32[s0, s1] on cpu", "s0 >= 2", "s1 >= 2", f"s0 > 3  ({__file__}:{line})",
    ]  # fmt: skip


def test_a_number_that_is_read_and_used_as_a_size() -> None:
    graph = make_fx(lambda n, x: opwright.zeros(n.item() + 1) + x.sum(), tracing_mode="symbolic")(
        opwright.tensor(3), opwright.ones(2)
    )
    assert calls(graph)[:2] == ["aten._local_scalar_dense.default", "add"]
    assert graph(opwright.tensor(6), opwright.ones(2)).shape == (7,)
    as_int = make_fx(lambda n: opwright.zeros(int(n)), tracing_mode="symbolic")
    with pytest.raises(opwright.symbolic.GuardOnDataDependentError, match="u0"):
        as_int(opwright.tensor(3))


def test_sizes_that_data_says() -> None:
    def function(x: Any) -> Any:
        found = x.nonzero()
        return found.sum(0), x.new_zeros(found.shape[0])

    graph = make_fx(function, tracing_mode="symbolic")(opwright.tensor([0, 1, 2]))
    total, zeros = graph(opwright.tensor([1, 1, 1, 0, 1]))
    assert total.tolist() == [7] and zeros.shape == (4,)


def test_ints_are_symbols_and_other_values_constants_with_guards() -> None:
    graph = make_fx(lambda x, n, k, flag: x.view(n, -1) * k if flag else x, tracing_mode="symbolic")(
        opwright.ones(6), 3, 2.5, True
    )
    assert graph.guards is not None
    assert graph(opwright.ones(10), 5, 2.5, True).shape == (5, 2)
    assert graph.guards.fits(opwright.ones(10), 5, 2.5, True)
    assert graph.guards.check(opwright.ones(10), 5, 3.5, True) == ["k_1 == 2.5, but it is 3.5"]
    assert graph.guards.check(opwright.ones(10), 5, 2.5, False) == ["flag_1 == True, but it is False"]


def test_a_size_is_read_before_a_write_changes_it() -> None:
    def function(x: Any) -> Any:
        y = x.clone()
        before = y.shape[0]
        y.t_()
        return y.new_zeros(before)

    graph = make_fx(function, tracing_mode="symbolic")(opwright.ones(3, 4))
    assert graph(opwright.ones(5, 7)).shape == (5,)

    def on_input(x: Any) -> Any:
        x.t_()
        return x.new_zeros(x.shape[0])

    assert make_fx(on_input, tracing_mode="symbolic")(opwright.ones(3, 4))(opwright.ones(5, 7)).shape == (7,)


def test_fakes_given_bring_their_mode() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(opwright.ones(3, 4))
    graph = make_fx(lambda x: x.sum(0) + x.shape[1])(x)
    assert graph.shape_env is mode.shape_env and graph(opwright.ones(2, 5)).tolist() == [7.0] * 5
    outside = mode.from_tensor(opwright.ones(2))
    with pytest.raises(RuntimeError, match=r"a fake tensor of shape \[s2\] was made outside of the traced function"):
        make_fx(lambda x: x.sum() + outside, tracing_mode="fake")(mode.from_tensor(opwright.ones(5)))


# Data


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("read", [bool, int, float, lambda x: x.item(), lambda x: [0] * x])
def test_a_value_that_depends_on_inputs_is_refused(mode: Any, read: Any) -> None:
    with pytest.raises(opwright.DataDependentOutputError) as raised:
        make_fx(lambda x: x * read(x.sum()), tracing_mode=mode)(opwright.ones(2, dtype=opwright.int64))
    assert "the value of sum_1 depends on the inputs, and the traced function asks for it" in str(raised.value)
    assert f"asked at {__file__}:" in str(raised.value)


def test_data_that_is_read_past_operators_is_refused_too() -> None:
    for read in (lambda x: x.tolist(), lambda x: x.numpy(), lambda x: np.asarray(x)):
        with pytest.raises(opwright.DataDependentOutputError, match="the value of x_1 depends on the inputs"):
            make_fx(read)(opwright.ones(2))
        assert make_fx(lambda x, read=read: x + opwright.tensor(read(opwright.tensor([1.0, 2.0]))))(opwright.ones(2))(
            opwright.zeros(2)
        ).tolist() == [1.0, 2.0]


@each_mode
def test_values_of_constants_can_be_asked_for(mode: Any) -> None:
    two = opwright.tensor(2)
    graph = make_fx(lambda x: x * opwright.tensor(3).item() if two.item() == 2 else x, tracing_mode=mode)(
        opwright.ones(2)
    )
    assert graph(opwright.ones(2)).tolist() == [3.0, 3.0]


def test_constants_that_inputs_were_written_to_are_none() -> None:
    def fine(x: Any) -> Any:
        total = opwright.tensor([1.0, 2.0])
        total.mul_(3)
        return x + total[1].item()

    def wrong(x: Any) -> Any:
        total = opwright.tensor([1.0, 2.0])
        first = total[0]
        total.add_(x)
        return x + first.item()

    assert make_fx(fine)(opwright.ones(2))(opwright.zeros(2)).tolist() == [6.0, 6.0]
    with pytest.raises(opwright.DataDependentOutputError):
        make_fx(wrong)(opwright.ones(2))


def test_a_branch_on_data_names_its_line_in_symbolic_mode() -> None:
    with pytest.raises(opwright.symbolic.GuardOnDataDependentError, match=f"asked at {__file__}:"):
        make_fx(lambda x: x if x.sum() > 0 else -x, tracing_mode="symbolic")(opwright.ones(2))


# Around it


def test_an_error_in_the_function_leaves_no_mode_on() -> None:
    for mode in MODES:
        with pytest.raises(KeyError, match="from the function"):
            make_fx(lambda x: {}["from the function"], tracing_mode=mode)(opwright.ones(2))  # type: ignore[arg-type]
        assert opwright.ones(2).numpy().tolist() == [1.0, 1.0]


def test_threads_trace_at_once() -> None:
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        graph = make_fx(lambda x: (x * number).sum(0) + x.shape[1], tracing_mode="symbolic")(opwright.ones(2, 3))
        found[number] = graph(opwright.ones(4, 2)).tolist()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [4.0 * number + 2] * 2 for number in range(2, 10)}


def test_lines_are_recorded_where_asked_for() -> None:
    graph = make_fx(lambda x: x + 1, record_stack_traces=True)(opwright.ones(2))
    assert (graph.graph.output_node().prev.stack_trace or "").startswith(__file__)


def test_by_pytorchs_path() -> None:
    with opwright.as_torch():
        from torch.fx.experimental.proxy_tensor import make_fx as theirs  # type: ignore[import-not-found]
    assert theirs is make_fx
