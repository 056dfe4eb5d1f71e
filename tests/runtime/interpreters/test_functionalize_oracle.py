"""`functionalize` beside PyTorch's: results, arguments, and the operators that are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from known_versions import oracle_version

import opwright
import opwright.func
import opwright.fx.experimental.proxy_tensor as ours

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
import torch.fx.experimental.proxy_tensor as theirs  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def given(t: Any) -> list[Any]:
    return [t.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]), t.tensor([0.5, 1.5, 2.5])]


PROGRAMMES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "select": lambda t, x, y: x.select(0, 0).add_(y),
    "slice": lambda t, x, y: x[1:].mul_(y),
    "diagonal": lambda t, x, y: x.diagonal().copy_(y),
    "transpose": lambda t, x, y: x.transpose(0, 1).add_(y),
    "permute": lambda t, x, y: x.permute(1, 0).mul_(y),
    "view": lambda t, x, y: x.view(-1).neg_(),
    "unsqueeze": lambda t, x, y: x.unsqueeze(0).add_(y),
    "squeeze": lambda t, x, y: x[:1].squeeze(0).add_(y),
    "expand": lambda t, x, y: y.expand(3, 3) + x.add_(1),
    "as_strided": lambda t, x, y: x.as_strided((2, 2), (3, 1), 1).add_(1),
    "views of views": lambda t, x, y: x.t()[1:].diagonal().mul_(2),
    "base, then view": lambda t, x, y: (x.view(9), x.add_(1))[0],
    "view, then another": lambda t, x, y: (x[0], x[1].add_(y), x[0].mul_(y))[0],
    "detach": lambda t, x, y: x.detach().add_(y),
    "view_as_complex": lambda t, x, y: t.view_as_complex(x[:, :2].contiguous()).mul_(2),
    "index_put_": lambda t, x, y: x.index_put_([y.argsort()], y),
    "masked_fill_": lambda t, x, y: x.masked_fill_(y > 1, 0.0),
    "clamp_, chained": lambda t, x, y: x.clamp_(2, 5).sub_(y).relu_(),
    "out": lambda t, x, y: t.add(x, y, out=t.empty(0)),
    "out of a view": lambda t, x, y: t.add(y, y, out=x[0]),
    "casts": lambda t, x, y: x.add_(y.double()),
    "copy_": lambda t, x, y: x.copy_(y),
    "copy_ over gaps": lambda t, x, y: t.empty_strided((3, 3), (7, 2)).copy_(x),
    "copy_ over gaps, transposed": lambda t, x, y: t.empty_strided((3, 3), (2, 7)).copy_(x.t()),
    "copy_ over what is repeated": lambda t, x, y: t.ops.aten.copy(y.expand(3, 3), x),
    "zero_ and fill_": lambda t, x, y: (x.zero_(), y.fill_(2.0))[0],
    "random": lambda t, x, y: (x.normal_() * 0, y.uniform_() * 0, y.bernoulli_(1.0))[2],
    "a new tensor": lambda t, x, y: t.zeros(3).add_(y),
    "numbers": lambda t, x, y: t.tensor([1.0, 2.0, 3.0]).mul_(y),
    "two results": lambda t, x, y: t.ops.aten.max.dim_max(x, 0, max=y, max_values=t.empty(3, dtype=t.int64)),
}
# Where we call other operators, and why: PyTorch's graphs have what is not needed, too, which is not compared.
OTHERWISE = ("numbers",)  # `clone`, where PyTorch has `lift_fresh_copy` and `detach`
# Without views, PyTorch's `contiguous` of a copied part is that part, so that a write to it goes to `x`.
MISTAKEN = [("view_as_complex", "mutations_and_views")]


def run(t: Any, functionalize: Any, programme: Any, remove: str) -> tuple[Any, list[Any]]:
    args = given(t)
    t.manual_seed(0)
    return functionalize(lambda *args: programme(t, *args), remove=remove)(*args), args


def lists(value: Any) -> Any:
    return [lists(each) for each in value] if isinstance(value, list | tuple) else value.tolist()


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("name", PROGRAMMES)
def test_results_and_arguments(name: str, remove: str) -> None:
    if (name, remove) in MISTAKEN:
        return
    mine = run(opwright, opwright.func.functionalize, PROGRAMMES[name], remove)
    other = run(torch, torch.func.functionalize, PROGRAMMES[name], remove)
    for first, second in zip(mine, other, strict=True):
        assert lists(first) == lists(second)
    if isinstance(mine[0], opwright.Tensor):
        assert mine[0].stride() == other[0].stride()


def names(module: Any, t: Any, functionalize: Any, programme: Any, remove: str) -> list[str]:
    graph = module.make_fx(functionalize(lambda *args: programme(t, *args), remove=remove))(*given(t))
    graph.graph.eliminate_dead_code()
    calls = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    return [str(each).removeprefix("aten.").partition(".")[0] for each in calls if "aten." in str(each)]


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("name", sorted(PROGRAMMES.keys() - {*OTHERWISE}))
def test_operators(name: str, remove: str) -> None:
    if (name, remove) in MISTAKEN:
        return
    mine = names(ours, opwright, opwright.func.functionalize, PROGRAMMES[name], remove)
    other = names(theirs, torch, torch.func.functionalize, PROGRAMMES[name], remove)
    if name == "detach" and (oracle_version() or (0, 0)) >= (2, 15):
        other = ["detach" if each == "alias" else each for each in other]  # PyTorch's name for it there
    assert mine == other
