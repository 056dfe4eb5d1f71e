"""`out=` of operators with several results: a tuple of tensors, as PyTorch's functions take it."""

from __future__ import annotations

from typing import Any

import pytest

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from both import check  # noqa: E402

pytestmark = pytest.mark.oracle

ROWS = [[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]
MATRIX = [[2.0, 1.0], [1.0, 3.0]]
CALLS: dict[str, tuple[str, Any]] = {
    "max": ("float32 int64", lambda t, out: t.max(t.tensor(ROWS), 0, out=out)),
    "max by name": ("float32 int64", lambda t, out: t.max(input=t.tensor(ROWS), dim=1, keepdim=True, out=list(out))),
    "min": ("float32 int64", lambda t, out: t.min(t.tensor(ROWS), dim=1, out=out)),
    "sort": ("float32 int64", lambda t, out: t.sort(t.tensor(ROWS), out=out)),
    "stable sort": ("float32 int64", lambda t, out: t.sort(t.tensor(ROWS), stable=True, dim=0, out=out)),
    "topk": ("float32 int64", lambda t, out: t.topk(t.tensor(ROWS), 2, out=out)),
    "kthvalue": ("float32 int64", lambda t, out: t.kthvalue(t.tensor(ROWS), 2, out=out)),
    "median": ("float32 int64", lambda t, out: t.median(t.tensor(ROWS), 1, out=out)),
    "nanmedian": ("float32 int64", lambda t, out: t.nanmedian(t.tensor(ROWS), 1, out=out)),
    "mode": ("float32 int64", lambda t, out: t.mode(t.tensor(ROWS), 1, out=out)),
    "cummax": ("float32 int64", lambda t, out: t.cummax(t.tensor(ROWS), 1, out=out)),
    "cummin": ("float32 int64", lambda t, out: t.cummin(t.tensor(ROWS), 1, out=out)),
    "aminmax": ("float32 float32", lambda t, out: t.aminmax(t.tensor(ROWS), dim=0, out=out)),
    "frexp": ("float32 int32", lambda t, out: t.frexp(t.tensor(ROWS), out=out)),
    "histogram": ("float32 float32", lambda t, out: t.histogram(t.tensor(ROWS).flatten(), 3, out=out)),
    "svd": ("float32 float32 float32", lambda t, out: t.svd(t.tensor(MATRIX), out=out)[1]),
    "linalg.svd": ("float32 float32 float32", lambda t, out: t.linalg.svd(t.tensor(MATRIX), out=out)[1]),
    "linalg.eigh": ("float32 float32", lambda t, out: t.linalg.eigh(t.tensor(MATRIX), out=out)[0]),
    "slogdet": ("float32 float32", lambda t, out: t.slogdet(t.tensor(MATRIX), out=out)),
    "linalg.lu": ("float32 float32 float32", lambda t, out: t.linalg.lu(t.tensor(MATRIX), out=out)),
    "geqrf": ("float32 float32", lambda t, out: t.geqrf(t.tensor(MATRIX), out=out)),
    "triangular_solve": (
        "float32 float32", lambda t, out: t.triangular_solve(t.tensor(MATRIX), t.tensor(MATRIX), out=out)
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", CALLS)
def test_results_are_written_to_a_tuple(name: str) -> None:
    dtypes, call = CALLS[name]

    def programme(t: Any) -> Any:
        out = tuple(t.empty(0, dtype=getattr(t, each)) for each in dtypes.split())
        found = call(t, out)
        is_one = not isinstance(found, tuple)
        return found, is_one or [a is b for a, b in zip(found, out, strict=True)], out[0].shape

    check(programme)


WRONG: list[Any] = [
    lambda t: t.max(t.tensor(ROWS), 0, out=(t.empty(0),)),
    lambda t: t.max(t.tensor(ROWS), 0, out=(1, 2)),
    lambda t: t.max(t.tensor(ROWS), 0, out=t.empty(0)),
    lambda t: t.add(t.tensor(ROWS), t.tensor(ROWS), out=(t.empty(0),)),
]


def test_wrong_tuples_are_refused() -> None:
    for call in WRONG:
        for library in (torch, opwright):
            with pytest.raises(TypeError):
                call(library)
    with pytest.raises(TypeError, match=r"max\(\): out is a tuple of 2 tensors, \(max, max_values\), got 1"):
        WRONG[0](opwright)
    check(lambda t: t.max(t.tensor(ROWS), 0, out=None))
