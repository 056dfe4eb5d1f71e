"""make_fx beside PyTorch's: the same operators, in the same order, under the same names, for functional programs; and
what writes, draws and is constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import opwright
from opwright.fx import make_fx

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
proxy_tensor = pytest.importorskip("torch.fx.experimental.proxy_tensor")
pytestmark = pytest.mark.oracle

Program = Callable[[Any, Any, Any], Any]
PROGRAMS: dict[str, Program] = {
    "arithmetic": lambda L, a, b: (1 - a - 2) * 3 / (a // 2 + a % b + 2**b) + a**2 - 1 / b,
    "unary": lambda L, a, b: (-a).abs().tanh().sigmoid().relu().exp().log1p().sqrt().rsqrt(),
    "matmul": lambda L, a, b: a @ b.t() @ a + (a @ b[0])[:, None] * L.dot(a[0], b[0]),
    "batches of matrices": lambda L, a, b: a[None] @ b.t()[None],
    "linear": lambda L, a, b: L.nn.functional.linear(a, b),
    "linear with bias": lambda L, a, b: L.nn.functional.linear(a[None], b, b[:, 0]),
    "einsum": lambda L, a, b: L.einsum("ij,kj->ik", a, b),
    "addmm": lambda L, a, b: L.addmm(a @ a.t(), a, b.t()) + L.outer(a[:, 0], b[:, 0]),
    "softmax": lambda L, a, b: a.softmax(-1) + a.log_softmax(0) + a.logsumexp(0),
    "layer_norm": lambda L, a, b: L.nn.functional.layer_norm(a, (4,)),
    "batch_norm": lambda L, a, b: L.nn.functional.batch_norm(a, None, None, training=True),
    "activations": lambda L, a, b: L.nn.functional.gelu(a) + L.nn.functional.silu(b) + L.nn.functional.elu(a),
    "glu": lambda L, a, b: L.nn.functional.glu(a),
    "where": lambda L, a, b: L.where(a > 0, a, b).clamp(min=0, max=1).clamp_min(0.5),
    "compare": lambda L, a, b: (a < b) & (a >= 0) | (a != b) | ~(a == b),
    "finite": lambda L, a, b: a.isnan() | a.isinf(),
    "isfinite": lambda L, a, b: a.isfinite(),
    "cat": lambda L, a, b: L.cat([a, b], 1).sum() + L.stack([a, b]),
    "parts": lambda L, a, b: a.split(2)[0] + a.chunk(2, 0)[0] + a.unbind(0)[0],
    "order": lambda L, a, b: a.topk(2)[0].sum() + a.sort(-1)[1].sum() + a.argmax() + a.argmax(0),
    "sums": lambda L, a, b: a.sum(0).sum() + a.sum((0, 1)) + a.mean() + a.mean(0).mean(-1, keepdim=True) + a.prod(),
    "variances": lambda L, a, b: a.var(0) + a.std() + a.norm() + a.cumsum(0),
    "extremes": lambda L, a, b: a.max() + b.max(0)[0].sum() + L.maximum(a, b) + L.minimum(a, b),
    "all": lambda L, a, b: (a > 0).any() | (b > 0).all(0).any(),
    "indexing": lambda L, a, b: a[0] + a[:, 1][:1] + a[1:][0] + a[:, None].sum((0, 1)),
    "a mask": lambda L, a, b: a.masked_fill(a > 0, 1.0),
    "gather": lambda L, a, b: a.gather(0, (a > 0).to(L.int64)) + a.scatter(0, (a > 0).long(), b),
    "index_add": lambda L, a, b: a.index_add(0, (a[:, 0] > 0).long(), b),
    "a list as an index": lambda L, a, b: a[[0, 1]],
    "views": lambda L, a, b: a.t().sum() + a.transpose(0, 1) + a.permute(1, 0) + a.mT,
    "T": lambda L, a, b: a.T,
    "shapes": lambda L, a, b: a.view(-1) + a.reshape(-1) + a.flatten() + a.t().reshape(-1),
    "expand": lambda L, a, b: a.expand(2, 3, 4) + a.unsqueeze(0).repeat(2, 1, 1) + a.unsqueeze(0).squeeze(0),
    "factories": lambda L, a, b: L.zeros_like(a) + L.full_like(a, 2) + a.new_ones(3, 1) + L.eye(3, 4) + L.arange(4),
    "dtypes": lambda L, a, b: a.to(L.float64) + a.double() + a.float() * a.half().float(),
    "triangles": lambda L, a, b: a.tril() + a.triu(1) + a.flip(0) + a.roll(1, 0),
    "diagonal": lambda L, a, b: L.diag(a),
    "convolution": lambda L, a, b: L.nn.functional.conv1d(a[None], b[None]),
    "pooling": lambda L, a, b: L.nn.functional.max_pool1d(a[None], 2) + L.nn.functional.avg_pool1d(b[None], 2),
    "losses": lambda L, a, b: L.nn.functional.mse_loss(a, b) + L.nn.functional.smooth_l1_loss(a, b),
    "cross_entropy": lambda L, a, b: L.nn.functional.cross_entropy(a, b.argmax(1)),
    "embedding": lambda L, a, b: L.nn.functional.embedding((b > 0).long(), a),
    "padding": lambda L, a, b: L.nn.functional.pad(a, (1, 1)),
    "lerp": lambda L, a, b: L.lerp(a, b, 0.5) + L.addcmul(a, a, b) + L.addcdiv(a, a, b) + L.cdist(a, b).sum(),
    "tensor": lambda L, a, b: a + L.tensor([1.0, 2.0, 3.0, 4.0]),
    "random": lambda L, a, b: L.rand(3, 4) + L.randn_like(a) + L.nn.functional.dropout(a, 0.5),
    "in place": lambda L, a, b: a.clone().add_(b).mul_(2).t_(),
    "a row": lambda L, a, b: a.clone()[0].zero_(),
    "gradient": lambda L, a, b: L.autograd.grad((a.requires_grad_().sin() * b.exp()).sum(), a)[0],
}
# Other operators than PyTorch's: why.
OTHERS = {
    "batches of matrices": "a batch of one is not folded by view where PyTorch calls _unsafe_view",
    "linear with bias": "the bias is added in place",
    "batch_norm": "PyTorch makes an empty reserve beside it",
    "isfinite": "an operator of its own, where PyTorch computes abs, ne, eq, mul",
    "a list as an index": "the list is the constant itself, which PyTorch copies first",
    "T": "an operator of its own, where PyTorch calls permute",
    "diagonal": "PyTorch has diagonal_copy",
}


def names(graph: Any, *left_out: str) -> list[str]:
    """What is called, in order, by its name without the overload: PyTorch gives numbers to Tensor overloads."""
    found = [
        str(node.target).split(".")[1] if "aten." in str(node.target) else node.target.__name__
        for node in graph.graph.nodes
        if node.op == "call_function"
    ]
    return [name for name in found if name not in ("detach", *left_out)]


def traced(program: Program, mode: Any, rows: int = 3) -> tuple[Any, Any]:
    ours = make_fx(lambda a, b: program(opwright, a, b), tracing_mode=mode)(opwright.rand(3, 4), opwright.rand(rows, 4))
    theirs = proxy_tensor.make_fx(lambda a, b: program(torch, a, b), tracing_mode=mode)(
        torch.rand(3, 4), torch.rand(rows, 4)
    )
    return ours, theirs


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_operators_in_the_same_order(name: str) -> None:
    ours, theirs = traced(PROGRAMS[name], "real")
    assert (names(ours) == names(theirs)) == (name not in OTHERS), (names(ours), names(theirs))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in OTHERS])
def test_nodes_are_called_the_same(name: str) -> None:
    ours, theirs = traced(PROGRAMS[name], "real")
    if "detach" not in str(theirs.graph):
        assert [node.name for node in ours.graph.nodes] == [node.name for node in theirs.graph.nodes]


SIZES = {
    "cat": lambda L, a, b: L.cat([a, b]).view(-1, a.shape[0] + b.shape[0]),
    "product": lambda L, a, b: a.reshape(a.shape[0] * a.shape[1]),
    "new": lambda L, a, b: a.new_zeros(a.shape[0] + 2, a.shape[1] // 2),
    "scalar": lambda L, a, b: a * a.shape[0] + b.shape[1],
    "zeros": lambda L, a, b: L.zeros(a.shape[1]) + a,
    "difference": lambda L, a, b: a[: a.shape[0] - 1].sum(0),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_recorded_as_there(name: str) -> None:
    """The same operators and the same arithmetic; sizes are read right after the inputs, in PyTorch where used."""
    ours, theirs = traced(SIZES[name], "symbolic", rows=5)
    assert sorted(names(ours)) == sorted(names(theirs)), (ours.code, theirs.code)
    assert names(ours, "sym_size") == names(theirs, "sym_size")


def test_dead_code_is_the_same() -> None:
    def program(L: Any, a: Any, b: Any) -> Any:
        L.rand(3)
        a.clone().add_(1)
        L.empty(3)
        a.sin()
        return a + b

    ours, theirs = traced(program, "real")
    assert names(ours) == names(theirs)
    for graph in (ours, theirs):
        graph.graph.eliminate_dead_code()
    assert names(ours) == names(theirs) == ["rand", "clone", "add_", "add"]


def test_inputs_of_trees_are_called_the_same() -> None:
    def program(d: Any, rest: Any, x: Any) -> Any:
        return {"sum": d["a"] + rest[1], "x": x * 2}

    def given(L: Any) -> Any:
        return {"a": L.ones(2)}, [L.ones(2), L.zeros(2)], L.ones(3)

    ours, theirs = make_fx(program)(*given(opwright)), proxy_tensor.make_fx(program)(*given(torch))
    assert [node.name for node in ours.graph.nodes] == [node.name for node in theirs.graph.nodes]
    for function in (lambda *args: args[0], lambda x, y, z: x):
        found = make_fx(function)(*given(opwright)), proxy_tensor.make_fx(function)(*given(torch))
        assert len({tuple(node.name for node in graph.graph.nodes) for graph in found}) == 1
