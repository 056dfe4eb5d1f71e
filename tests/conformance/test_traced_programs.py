"""Random programs of views, writes, arithmetic, reductions and indexing: the graph that make_fx records of one, in each
mode, does what the program does; so do its code run by itself, its JSON read again, and a trace of the graph."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import opwright
from opwright.fx import GraphModule, from_json, make_fx, to_json
from opwright.symbolic import ShapeEnv

pytestmark = pytest.mark.filterwarnings("ignore")
ShapeEnv()  # imports sympy, which would count for the first example's time

Step = tuple[str, int, int, int]  # a step of STEPS, two operands by their place, a number


def _written(a: Any, b: Any, n: int) -> Any:
    a.add_(b)
    return a


def _row_set(a: Any, b: Any, n: int) -> Any:
    a[n % a.shape[0]] = b.mean()
    return a * 1


def _through_view(a: Any, b: Any, n: int) -> Any:
    a.transpose(0, -1).select(0, 0).mul_(n + 0.5)
    return a.sum(0)


def _out(a: Any, b: Any, n: int) -> Any:
    made = opwright.empty_like(a)
    opwright.ops.aten.mul.out(a, b, out=made)
    return made


# What does not fit raises, and is left out of the program.
STEPS: dict[str, Callable[[Any, Any, int], Any]] = {
    "add": lambda a, b, n: a + b,
    "sub scalar": lambda a, b, n: n - a,
    "mul": lambda a, b, n: a * b,
    "div": lambda a, b, n: a / (b.abs() + 1),
    "tanh": lambda a, b, n: a.tanh(),
    "where": lambda a, b, n: opwright.where(a > 0, a, b),
    "clamp": lambda a, b, n: a.clamp(min=-0.5, max=n),
    "matmul": lambda a, b, n: a @ b.transpose(-1, -2),
    "softmax": lambda a, b, n: a.softmax(-1),
    "layer norm": lambda a, b, n: opwright.nn.functional.layer_norm(a, (a.shape[-1],)),
    "cat": lambda a, b, n: opwright.cat([a, b, a], n % 2),
    "stack": lambda a, b, n: opwright.stack([a, b]),
    "split": lambda a, b, n: a.split(2)[-1],
    "chunk": lambda a, b, n: sum(a.chunk(2, -1)),
    "topk": lambda a, b, n: a.topk(1)[0],
    "max": lambda a, b, n: a.max(0).values,
    "sort": lambda a, b, n: a.sort(-1, descending=n % 2 == 0)[0],
    "sum": lambda a, b, n: a.sum(n % a.ndim),
    "mean": lambda a, b, n: a.mean(-1, keepdim=True),
    "var": lambda a, b, n: a.var(0),
    "cumsum": lambda a, b, n: a.cumsum(-1),
    "select": lambda a, b, n: a[n % a.shape[0]],
    "slice": lambda a, b, n: a[1:],
    "slice last": lambda a, b, n: a[..., :-1],
    "newaxis": lambda a, b, n: a[:, None] * 2,
    "index": lambda a, b, n: a[[0, 1, 0]],
    "mask": lambda a, b, n: a.masked_fill(a > b, n),
    "gather": lambda a, b, n: a.gather(0, (a > 0).to(opwright.int64)),
    "index_add": lambda a, b, n: a.index_add(0, opwright.tensor([0, 1]), a[:2]),
    "t": lambda a, b, n: a.transpose(0, -1),
    "flatten": lambda a, b, n: a.flatten(),
    "reshape": lambda a, b, n: a.reshape(-1, a.shape[-1]) + 0,
    "view": lambda a, b, n: a.view(a.shape[0], -1, 1),
    "expand": lambda a, b, n: a.expand(2, *a.shape),
    "repeat": lambda a, b, n: a.repeat_interleave(2, 0),
    "size": lambda a, b, n: a * a.shape[0] + b.shape[-1] // 2,
    "zeros of a size": lambda a, b, n: a.new_zeros(a.shape[0] + b.shape[0]) + a.mean(),
    "full": lambda a, b, n: opwright.full_like(a, 2.5) + a,
    "arange": lambda a, b, n: opwright.arange(a.shape[0], dtype=a.dtype).sum() * b,
    "constant": lambda a, b, n: a * opwright.tensor([2.0, 3.0])[n % 2],
    "constant written": lambda a, b, n: a + opwright.tensor([1.0, 2.0]).mul_(3).sum(),
    "closure": lambda a, b, n: a + OUTSIDE.sum(),
    "add_": _written,
    "mul_": lambda a, b, n: a.mul_(n),
    "relu_": lambda a, b, n: a.relu_(),
    "zero a row": _row_set,
    "write through a view": _through_view,
    "copy_": lambda a, b, n: a.clone().copy_(b),
    "t_": lambda a, b, n: a.clone().t_().sum(0),
    "out": _out,
    "detach": lambda a, b, n: a.detach() + a,
    "to": lambda a, b, n: a.to(opwright.float64).to(opwright.float32),
    "no grad": lambda a, b, n: a * opwright.ones_like(b).sum(),
}
OUTSIDE = opwright.tensor([1.5, -2.0])


def run(steps: Sequence[Step], inputs: Sequence[Any], left_out: set[int] | None = None) -> tuple[Any, ...]:
    """The last results of a program; what raises is added to `left_out`, what is there already is not tried."""
    tensors = [each * 1 for each in inputs]
    for place, (name, first, second, number) in enumerate(steps):
        if left_out is not None and place in left_out:
            continue
        try:
            made = STEPS[name](tensors[first % len(tensors)], tensors[second % len(tensors)], number)
        except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError, ZeroDivisionError):
            assert left_out is not None
            left_out.add(place)
            continue
        if not isinstance(made, opwright.Tensor) or made.ndim > 4 or made.numel() > 500:
            continue
        tensors.append(made)
    return tuple(tensors[-4:])


def program(steps: Sequence[Step], left_out: set[int], has_gradients: bool) -> Callable[..., Any]:
    """The program as a function; with gradients, that of the sum of its results to its inputs, too."""
    kept = [step for place, step in enumerate(steps) if place not in left_out]

    def function(*inputs: Any) -> Any:
        results = run(kept, inputs)
        if not has_gradients:
            return results
        total = sum(each.sum() for each in results if each.requires_grad)
        return *results, *opwright.autograd.grad(total, inputs, allow_unused=True)

    return function


def check_equal(found: Any, wanted: Any, what: str) -> None:
    assert len(found) == len(wanted), what
    for one, other in zip(found, wanted, strict=True):
        if other is None:
            assert one is None, what
        else:
            opwright.testing.assert_close(one.detach(), other.detach(), equal_nan=True, msg=what)


def by_itself(graph: GraphModule) -> Callable[..., Any]:
    """The graph's code, run in a module of its own."""
    names: dict[str, Any] = {}
    exec(graph.code, names)
    return lambda *inputs: names["forward"](graph, *inputs)


def inputs_of(shapes: Sequence[tuple[int, ...]], requires_grad: bool) -> list[Any]:
    opwright.manual_seed(sum(map(sum, shapes)))
    return [opwright.randn(*shape).requires_grad_(requires_grad) for shape in shapes]


def check(steps: Sequence[Step], shapes: Sequence[tuple[int, ...]], has_gradients: bool) -> str:
    """Check a program, and return how far that went."""
    left_out: set[int] = set()
    run(steps, inputs_of(shapes, has_gradients), left_out)
    function = program(steps, left_out, has_gradients)
    try:
        wanted = function(*inputs_of(shapes, has_gradients))
    except RuntimeError:  # no gradient reaches the results, or a saved tensor was written to
        return "no gradients"
    for mode, above in (("real", False), ("fake", False), ("symbolic", True), ("symbolic", False)):
        if above and has_gradients:  # a backward pass is recorded below autograd alone
            continue
        trace: Any = functools.partial(make_fx, tracing_mode=mode, pre_dispatch=above)
        graph = trace(function)(*inputs_of(shapes, has_gradients))
        inputs = inputs_of(shapes, has_gradients)
        what = f"{mode}, {above}\n{graph.code}"
        graph.graph.lint()
        check_equal(graph(*inputs), wanted, what)
        assert graph.guards is not None and graph.guards.check(*inputs) == [], what
        check_equal(by_itself(graph)(*inputs_of(shapes, has_gradients)), wanted, what)
        read = from_json(to_json(graph))
        assert read.code == graph.code and read.guards == graph.guards
        check_equal(read(*inputs_of(shapes, has_gradients)), wanted, what)
        again = trace(copy.deepcopy(graph))(*inputs_of(shapes, has_gradients))
        check_equal(again(*inputs_of(shapes, has_gradients)), wanted, f"traced again\n{again.code}")
        graph.graph.eliminate_dead_code()
        graph.recompile()
        check_equal(graph(*inputs_of(shapes, has_gradients)), wanted, f"without dead code\n{graph.code}")
    count = check_other_sizes(graph, function, shapes, has_gradients)
    return f"{count} other sizes, {len(left_out)} steps left out"


def check_other_sizes(graph: Any, function: Any, shapes: Sequence[tuple[int, ...]], has_gradients: bool) -> int:
    """A graph that was traced with symbolic sizes runs on others, wherever its guards hold."""
    count = 0
    for change in ({3: 5}, {4: 7}, {3: 4, 4: 3}):
        other = [tuple(change.get(size, size) for size in shape) for shape in shapes]
        inputs = inputs_of(other, has_gradients)
        if not graph.guards.fits(*inputs):
            continue
        count += 1
        what = f"{shapes} traced, {other} run\n{graph.code}\n{graph.guards}"
        check_equal(graph(*inputs), function(*inputs_of(other, has_gradients)), what)
    return count


steps_of = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 6), st.integers(0, 6), st.integers(0, 3)),
    min_size=1,
    max_size=12,
)
shapes_of = st.sampled_from([((3, 4), (3, 4)), ((3, 4), (4,)), ((4, 4), (3, 4)), ((3,), (3,)), ((2, 3, 4), (3, 4))])


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps_of, shapes_of, st.booleans())
def test_graphs_do_what_programs_do(steps: list[Step], shapes: Any, has_gradients: bool) -> None:
    event(check(steps, shapes, has_gradients))


@pytest.mark.parametrize("name", sorted(STEPS))
def test_each_step(name: str) -> None:
    for has_gradients in (False, True):
        outcome = check([(name, 0, 1, 1)], ((3, 4), (3, 4)), has_gradients)
        assert has_gradients or outcome.endswith(" 0 steps left out")
