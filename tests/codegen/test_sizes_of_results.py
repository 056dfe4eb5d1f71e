"""Results of new sizes, declared, generated and called: `sized`, `empty`, and `gufunc` with sizes by formulas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pipeline import generate, imported, new_namespace

import opwright
from opwright.fake import FakeTensorMode
from opwright.fx.experimental.proxy_tensor import make_fx

ENTRIES = """
- func: NS::spmv(Tensor indptr, Tensor indices, Tensor values, Tensor x) -> Tensor
  meta: sized([indptr.shape[0] - 1], values, x)
  dispatch: {CPU: spmv}
- func: NS::spmv_by_rule(Tensor indptr, Tensor indices, Tensor values, Tensor x) -> Tensor
  meta: hostile_kernels:rows
  dispatch: {CPU: spmv}
  autogen: spmv_by_rule.out
- func: NS::counts(Tensor x, Tensor y, int n) -> Tensor
  meta: empty([x.shape[0], n], dtype=float64)
  dispatch: {CPU: 'xp.zeros((x.shape[0], n)) + y.sum()'}
- func: NS::with_first(Tensor x, Tensor y) -> Tensor
  meta: hostile_kernels:as_first
  dispatch: {CPU: with_first}
- func: NS::split(Tensor x, Tensor y) -> (Tensor, Tensor)
  meta: hostile_kernels:two
  dispatch: {CPU: split}
- func: NS::pairs(Tensor x) -> Tensor
  meta: gufunc("(n,d)->(p)", x, p=n*(n-1)//2)
  dispatch: {CPU: pairs}
- func: NS::two_sizes(Tensor q, Tensor n) -> (Tensor, Tensor)
  meta: gufunc("(q), (n) -> (q), (k)", q, n, k=2 * n)
  dispatch: {CPU: '(q * xp.ones(n.shape[:-1] + (1,)), xp.concatenate([n, n], -1) * xp.ones(q.shape[:-1] + (1,)))'}
- func: NS::edges(Tensor x) -> Tensor
  meta: gufunc("(n)->(n+1)", x)
  dispatch: {CPU: 'xp.concatenate([x, x[..., -1:]], -1)'}
- func: NS::ends(Tensor x) -> Tensor
  meta: gufunc("(n)->(2)", x)
  dispatch: {CPU: 'x[..., [0, -1]]'}
- func: NS::padded(Tensor x, int k) -> Tensor
  meta: gufunc("(n)->(m)", x, m=n + 2*k)
  dispatch: {CPU: padded}
- func: NS::rows(Tensor x, int k) -> Tensor
  meta: gufunc("(n,d)->(k,d)", x, k=k)
  dispatch: {CPU: 'x[..., :1, :] + xp.zeros((k, 1), x.dtype)'}
- func: NS::cross3(Tensor x, Tensor y) -> Tensor
  meta: gufunc("(3),(3)->(3)", x, y)
  dispatch: {CPU: 'xp.cross(x, y)'}
- func: NS::product(Tensor x, Tensor y) -> Tensor
  meta: gufunc("(m?,n),(n,p?)->(m?,p?)", x, y)
  dispatch: {CPU: 'xp.matmul(x, y)'}
- func: NS::weighted(Tensor x, Tensor w) -> Tensor
  meta: gufunc("(n),(n|1)->()", x, w)
  dispatch: {CPU: '(x * w).sum(-1)'}
- func: NS::halved(Tensor x) -> Tensor
  meta: gufunc("(n,d)->(p,d)", x, p=x.shape[-2] // 2)
  dispatch: {CPU: 'x[..., :x.shape[-2] // 2, :] * 1'}
"""
OTHER_ORDER = """
- func: NS::less(Tensor self, Tensor other) -> Tensor
  meta: hostile_kernels:turned
  dispatch: {CPU: less}
  autogen: less_, less.out
- func: NS::less_by_expression(Tensor self, Tensor other) -> Tensor
  meta: hostile_kernels:turned
  dispatch: {CPU: 'xp.subtract(self, other)'}
  autogen: less_by_expression_, less_by_expression.out
- func: NS::joined(Tensor[] tensors, Tensor? more=None) -> Tensor
  meta: hostile_kernels:joined
  dispatch: {CPU: joined_kernel}
  autogen: joined.out
- func: NS::both(Tensor self, Tensor other) -> (Tensor, Tensor)
  meta: hostile_kernels:both
  dispatch: {CPU: both_kernel}
"""
KERNELS = """
import numpy as np
from typing import Any
from opwright import rules

def rows(indptr: Any, indices: Any, values: Any, x: Any) -> rules.Plan:
    return rules.empty([indptr.shape[0] - 1], dtype=values.dtype)
def as_first(x: Any, y: Any) -> rules.Plan:
    return rules.like(x)
def two(x: Any, y: Any) -> tuple[rules.Plan, rules.Plan]:
    return rules.empty([x.shape[0]], dtype=x.dtype), rules.like(y)
def turned(self: Any, other: Any) -> rules.Plan:
    return rules.pointwise(other, self)
def joined(tensors: Any, more: Any) -> rules.Plan:
    return rules.cat(tensors, 0)
def both(self: Any, other: Any) -> tuple[rules.Plan, rules.Plan]:
    return rules.pointwise(other, self), rules.like(self)

def less(self, other):
    return self - other
def joined_kernel(tensors, more):
    return np.concatenate(tensors) - (0 if more is None else more)
def both_kernel(self, other):
    return self - other, self + other
def spmv(indptr, indices, values, x):
    assert indptr.dtype == np.int64 == indices.dtype
    made = np.zeros(len(indptr) - 1, values.dtype)
    np.add.at(made, np.repeat(np.arange(len(made)), np.diff(indptr)), values * x[indices])
    return made
def with_first(x, y):
    return x + y.sum(dtype=x.dtype)
def split(x, y):
    return x + 1, y + 1
def pairs(x):
    i, j = np.triu_indices(x.shape[-2], 1)
    return np.sqrt(((x[..., i, :] - x[..., j, :]) ** 2).sum(-1))
def padded(x, k):
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(k, k)])
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    space = new_namespace()
    folder = tmp_path_factory.mktemp("sizes")
    with imported(generate(folder, (ENTRIES + OTHER_ORDER).replace("NS", space), kernels=KERNELS)):
        yield getattr(opwright.ops, space)


def arguments(name: str) -> tuple[Any, ...]:
    """Arguments of each operator; samples of a batch for the vmap test have these shapes."""

    def of(*shape: int) -> Any:
        return opwright.tensor(np.arange(float(np.prod(shape)), dtype=np.float64).reshape(shape) + 1)

    indptr, indices = opwright.tensor([0, 2, 2, 3]), opwright.tensor([0, 2, 1])
    return {
        "spmv": (indptr, indices, of(3), of(3)),
        "spmv_by_rule": (indptr, indices, of(3), of(3)),
        "counts": (of(2), of(3), 4),
        "with_first": (of(2, 3), indptr),
        "split": (of(2), of(3)),
        "pairs": (of(4, 3),),
        "edges": (of(3),),
        "ends": (of(3),),
        "padded": (of(3), 2),
        "rows": (of(2, 3), 4),
        "cross3": (of(3), of(3)),
        "two_sizes": (of(3), of(4)),
        "product": (of(3), of(3, 2)),
        "weighted": (of(3), of(1)),
        "halved": (of(5, 2),),
    }[name]


NAMES = [line.split("::")[1].split("(")[0] for line in ENTRIES.splitlines() if line.startswith("- func")]
SHAPES = {
    "spmv": (3,), "spmv_by_rule": (3,), "counts": (2, 4), "with_first": (2, 3),
    "split": (2,), "pairs": (6,), "edges": (4,), "ends": (2,),
    "padded": (7,), "rows": (4, 3), "cross3": (3,), "two_sizes": (3,), "product": (2,),
    "weighted": (), "halved": (2, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_results_are_as_planned(name: str, ops: Any) -> None:
    args = arguments(name)
    made = getattr(ops, name)(*args)
    first = made[0] if isinstance(made, tuple) else made
    assert (tuple(first.shape), first.dtype) == (SHAPES[name], opwright.float64)
    assert opwright.library.opcheck(getattr(ops, name).default, args)["test_faketensor"] == "SUCCESS"


def test_values(ops: Any) -> None:
    assert ops.spmv(*arguments("spmv")).tolist() == [1 * 1 + 2 * 3, 0.0, 3 * 2]
    assert ops.spmv_by_rule(*arguments("spmv_by_rule")).tolist() == [7.0, 0.0, 6.0]
    out = opwright.empty(3, dtype=opwright.float64)
    assert ops.spmv_by_rule.out(*arguments("spmv_by_rule"), out=out) is out and out.tolist() == [7.0, 0.0, 6.0]
    assert ops.with_first(opwright.ones(2), opwright.tensor([2, 3])).tolist() == [6.0, 6.0]
    assert ops.edges(opwright.tensor([[1.0, 2.0]])).tolist() == [[1.0, 2.0, 2.0]]
    for first, second in (((3,), (3,)), ((2, 3), (3,)), ((5, 2, 3), (3, 4))):
        x, y = np.ones(first), np.ones(second)
        assert ops.product(x, y).shape == np.matmul(x, y).shape


def test_a_rule_plans_with_operands_in_any_order(ops: Any) -> None:
    x, y = opwright.tensor([5.0, 5.0]), opwright.tensor([[1.0, 2.0]], dtype=opwright.float64)
    for op, in_place in ((ops.less, ops.less_), (ops.less_by_expression, ops.less_by_expression_)):
        for call in (op, op, lambda *args, op=op: op(*args, out=opwright.empty(0, dtype=opwright.float64))):
            assert call(x, y).tolist() == [[4.0, 3.0]]
            assert call(y, x).tolist() == [[-4.0, -3.0]]
        assert in_place(y.clone(), x).tolist() == [[-4.0, -3.0]]
    assert [each.tolist() for each in ops.both(y, x)] == [[[-4.0, -3.0]], [[6.0, 7.0]]]
    for count in (1, 2, 3):
        for more in ((), (opwright.tensor([1.0]),)):
            expected = [4.0 if more else 5.0] * 2 * count
            for named in ({}, {"out": opwright.empty(0)}):
                assert ops.joined([x] * count, *more, **named).tolist() == expected


@pytest.mark.filterwarnings("ignore:vmap. there is no batching rule")
@pytest.mark.parametrize("name", NAMES)
def test_every_sample_of_a_batch_is_the_result_of_the_sample(name: str, ops: Any) -> None:
    args = arguments(name)
    is_index = [isinstance(each, int) or each.dtype == opwright.int64 for each in args]
    batched = [each if fixed else opwright.stack([each, each * 2]) for each, fixed in zip(args, is_index, strict=True)]
    dims = tuple(None if fixed else 0 for fixed in is_index)
    op = getattr(ops, name)
    found = opwright.vmap(op, in_dims=dims)(*batched)
    for place in range(2):
        sample = op(*[each if fixed else each[place] for each, fixed in zip(batched, is_index, strict=True)])
        pairs = zip(found, sample, strict=True) if isinstance(sample, tuple) else [(found, sample)]
        for whole, one in pairs:
            np.testing.assert_allclose(whole[place].numpy(), one.numpy())


def test_devices_are_those_of_the_operands(ops: Any) -> None:
    with FakeTensorMode():
        x = opwright.empty(4, 3, device="cuda")
        assert ops.pairs(x).device.type == ops.halved(x).device.type == "cuda"
        counts = opwright.empty(5, dtype=opwright.int64, device="cuda")
        values = opwright.empty(3, device="cuda")
        for op in (ops.spmv, ops.spmv_by_rule):
            made = op(counts, counts, values, values)
            assert (made.device.type, made.dtype, tuple(made.shape)) == ("cuda", opwright.float32, (4,))


@pytest.mark.parametrize("name", ["pairs", "edges", "padded", "halved", "spmv", "product"])
def test_sizes_may_be_symbolic(name: str, ops: Any) -> None:
    args = arguments(name)
    graph = make_fx(getattr(ops, name), tracing_mode="symbolic")(*args)
    np.testing.assert_allclose(graph(*args).numpy(), getattr(ops, name)(*args).numpy())


def test_what_does_not_fit_is_said(ops: Any) -> None:
    with pytest.raises(RuntimeError, match=r"shapes 2 and 2 do not fit \(3\),\(3\)->\(3\): 2 is not 3"):
        ops.cross3(np.ones(2), np.ones(2))
    with pytest.raises(RuntimeError, match="n is 3 and 2"):
        ops.weighted(np.ones(3), np.ones(2))


def test_a_signature_of_two_results_is_numpy_s(ops: Any) -> None:
    first, second = ops.two_sizes(np.ones((2, 3)), np.ones(4))
    assert (first.shape, second.shape) == ((2, 3), (2, 8))
    with FakeTensorMode():
        made = ops.two_sizes(opwright.empty(5, 2, 3), opwright.empty(5, 1, 4))
        assert [tuple(each.shape) for each in made] == [(5, 2, 3), (5, 2, 8)]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda ops: ops.cross3(np.ones(2), np.ones(2)), r"::cross3\(\w+, \w+\): shapes 2 and 2 do not fit"),
        (
            lambda ops: ops.two_sizes(np.ones(()), np.ones(2)),
            r"::two_sizes\(q, n\): argument 'q' must have at least 1 dimension",
        ),
        (
            lambda ops: ops.two_sizes(np.ones(3), np.ones(())),
            r"::two_sizes\(q, n\): argument 'n' must have at least 1 dimension",
        ),
        (
            lambda ops: ops.two_sizes(np.ones(3), np.ones(3, "f4")),
            r"::two_sizes\(q, n\): expected operands of one dtype",
        ),
    ],
)
def test_refusals_begin_with_the_operator_and_its_arguments(ops: Any, call: Any, said: str) -> None:
    with pytest.raises(RuntimeError, match=said) as caught:
        call(ops)
    assert ".float()" not in str(caught.value)
