"""Operators that write to memory that they read: refused where PyTorch refuses it, and never a wrong result."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from both import check  # noqa: E402
from declared import of_kind, operators  # noqa: E402
from known_versions import RESULTS  # noqa: E402
from overlapping import NOT_REFUSED, calls, problem  # noqa: E402

from opwright_codegen.schema.model import SchemaKind  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

MOST = 1  # samples of an operator, each with memory shared in four ways

# Of 2,608 such calls PyTorch runs 543 that are refused here. 202 of those give it a wrong result, since it writes while
# it reads; which of them are right depends on how its kernel goes about it. So all are refused, as its own rule says.

# PyTorch refuses these since it computes in the output; here the result is there before the output is written to.
COMPUTED_FIRST = (
    "cross.out", "diff.out", "ger.out", "kron.out", "linalg_matrix_power.out", "linalg_solve.out", "linear.out",
    "masked_select.out", "matrix_power.out", "msort.out", "nonzero.out", "orgqr.out", "outer.out",
    "renorm.out", "soft_margin_loss.out",
)  # fmt: skip


def written() -> list[str]:
    """The operators that write one output; not those whose results are random, or left as they were."""
    names = of_kind(SchemaKind.OUT, SchemaKind.INPLACE)
    return [name for name in names if not is_random(name) and "empty" not in name]


def is_random(name: str) -> bool:
    return "nondeterministic_seeded" in operators()[name].tags or "rand" in name


@pytest.mark.calls
@pytest.mark.parametrize("name", written())
def test_memory_that_is_read_and_written(name: str) -> None:
    wrong = [found for each in calls(name, MOST) if (found := problem(each)) is not None]
    if name in COMPUTED_FIRST:
        wrong = [found for found in wrong if NOT_REFUSED not in found]
    wrong = [found for found in wrong if not RESULTS.covers(name, found)]
    assert not wrong, "\n".join(wrong)


SHARING = {
    "gather": lambda t, x, i: t.gather(x, 0, i, out=x),
    "take": lambda t, x, i: t.take(x, i, out=x),
    "index_select": lambda t, x, i: t.index_select(x, 0, i[0], out=x),
    "index": lambda t, x, i: t.ops.aten.index.Tensor_out(x, [i[0]], out=x),
    "scatter_": lambda t, x, i: x.scatter_(0, i, x),
    "scatter, self": lambda t, x, i: t.scatter(x, 0, i, x + 1, out=x),
    "scatter, src": lambda t, x, i: t.scatter(t.ones(3, 3), 0, i, x, out=x),
    "scatter_add_": lambda t, x, i: x.scatter_add_(0, i, x),
    "scatter_reduce_": lambda t, x, i: x.scatter_reduce_(0, i, x, "sum"),
    "put_": lambda t, x, i: x.put_(i, x),
    "index_add_": lambda t, x, i: x.index_add_(0, i[0], x),
    "index_add, self": lambda t, x, i: t.index_add(x, 0, i[0], t.ones(3, 3), out=x),
    "index_copy_": lambda t, x, i: x.index_copy_(0, i[0], x),
    "index_reduce_": lambda t, x, i: x.index_reduce_(0, i[0], x, "prod"),
    "index_fill_": lambda t, x, i: x.index_fill_(0, i[0], x[0, 0]),
    "cat": lambda t, x, i: t.cat([x], out=x),
    "masked_scatter_": lambda t, x, i: x.masked_scatter_(x > 4, x),
    "masked_scatter_, turned": lambda t, x, i: x.masked_scatter_(x > 4, x.t()),
    "masked_scatter_, later": lambda t, x, i: x.masked_scatter_(x > 4, x.flatten()[3:]),
    "x[1:] = x[:-1]": lambda t, x, i: x.__setitem__(slice(1, None), x[:-1]) or x,
    "x[:, 1:] = x[:, :1]": lambda t, x, i: x.__setitem__((slice(None), slice(1, None)), x[:, :1]) or x,
    "x[index] = x": lambda t, x, i: x.__setitem__(i[0], x) or x,
    "x[index] = a row": lambda t, x, i: x.__setitem__(i[0], x[:1]) or x,
    "x[mask] = one": lambda t, x, i: x.__setitem__(x > 4, x[0, 0]) or x,
    "x[mask] = some": lambda t, x, i: x.__setitem__(x > 4, x.flatten()[:4]) or x,
    "copy_, turned": lambda t, x, i: x.copy_(x.t()),
    "copy_, expanded": lambda t, x, i: x.copy_(x[:1]),
    "copy_, itself": lambda t, x, i: x.copy_(x),
    "bernoulli_": lambda t, x, i: x[1:].bernoulli_(x[:2] * 0),
    "bernoulli_, shared": lambda t, x, i: x[1:].bernoulli_(x[:2]),
}


@pytest.mark.calls
@pytest.mark.parametrize("action", SHARING.values(), ids=SHARING.keys())
def test_what_shares_memory(action) -> None:  # type: ignore[no-untyped-def]
    def programme(t):  # type: ignore[no-untyped-def]
        x = t.arange(9, dtype=t.float32).reshape(3, 3).clone()
        return action(t, x, t.tensor([[0, 2, 1], [1, 1, 0], [2, 0, 1]]))

    check(programme)
