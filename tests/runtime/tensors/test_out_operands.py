"""Tensors that are read and written in one call: `out=` that is an operand, writes to a view of the source, fills."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import opwright

# A call with `out=` that is an operand of another shape than the result's, and the operand's shape.
RESIZED: dict[str, tuple[tuple[int, ...], Any]] = {
    "add": ((), lambda o, x: o.add(x, o.ones(2, 3), out=x)),
    "add, second": ((), lambda o, x: o.add(o.ones(2, 3), x, out=x)),
    "add, row": ((1, 3), lambda o, x: o.add(x, o.ones(2, 3), out=x)),
    "add, empty": ((0,), lambda o, x: o.add(x, o.ones(1, 1), out=x)),
    "lerp": ((), lambda o, x: o.lerp(x, o.ones(2, 3), 0.5, out=x)),
    "addcmul": ((), lambda o, x: o.addcmul(x, o.ones(2, 3), o.ones(3), out=x)),
    "where": ((), lambda o, x: o.where(o.ones(2, 3) > 0, x, x, out=x)),
    "clamp": ((), lambda o, x: o.clamp(x, o.ones(2, 3), out=x)),
    "eq": ((), lambda o, x: o.eq(x, o.ones(2, 3), out=x)),
    "atan2": ((), lambda o, x: o.atan2(x, o.ones(2, 3), out=x)),
    "cat": ((2, 3), lambda o, x: o.cat([x, x], out=x)),
    "index_select": ((2, 3), lambda o, x: o.index_select(x, 0, o.tensor([0]), out=x)),
    "take": ((2,), lambda o, x: o.take(x, o.tensor([0, 1, 1]), out=x)),
}


# PyTorch refuses these, too: with errors of many kinds, since the operand is resized before it is read.
GROWN: dict[str, tuple[tuple[int, ...], Any]] = {
    "stack": ((2, 3), lambda o, x: o.stack([x, x], out=x)),
    "outer": ((3,), lambda o, x: o.outer(x, o.ones(2), out=x)),
    "outer, second": ((3,), lambda o, x: o.outer(o.ones(2), x, out=x)),
    "ger": ((3,), lambda o, x: o.ger(x, o.ones(2), out=x)),
    "kron": ((2, 3), lambda o, x: o.kron(x, o.ones(2, 2), out=x)),
    "addr": ((3,), lambda o, x: o.addr(o.ones(3, 2), x, o.ones(2), out=x)),
    "chain_matmul": ((2, 3), lambda o, x: o.chain_matmul(x, o.ones(3, 4), o.ones(4, 2), out=x)),
    "masked_select": ((2, 3), lambda o, x: o.masked_select(x, o.ones(2, 3) > 0, out=x)),
    "linalg.det": ((3, 3), lambda o, x: o.linalg.det(x, out=x)),
    "linalg.svdvals": ((3, 3), lambda o, x: o.linalg.svdvals(x, out=x)),
}


def outcome(library: Any, shape: tuple[int, ...], call: Any) -> tuple[str, tuple[int, ...]]:
    x = library.ones(shape)
    try:
        call(library, x)
    except RuntimeError as error:
        return str(error).split("location")[0], tuple(x.shape)
    return "", tuple(x.shape)


@pytest.mark.parametrize("name", RESIZED)
def test_an_operand_is_not_resized_as_out(name: str) -> None:
    message, shape = outcome(opwright, *RESIZED[name])
    assert "doesn't match the broadcast shape" in message or "single memory" in message
    assert shape == RESIZED[name][0]


@pytest.mark.oracle
@pytest.mark.parametrize("name", RESIZED)
def test_operands_as_out_beside_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    assert outcome(opwright, *RESIZED[name])[0] == outcome(torch, *RESIZED[name])[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GROWN)
def test_an_operand_does_not_grow_as_out(name: str) -> None:
    message, shape = outcome(opwright, *GROWN[name])
    assert "single memory" in message and shape == GROWN[name][0]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GROWN)
def test_operands_that_would_grow_beside_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    assert outcome(torch, *GROWN[name])[0]


def test_a_bound_is_read_before_it_is_written() -> None:
    for kind in ("uint8", "float32"):
        low, high = opwright.tensor([3, 3, 3], dtype=kind), opwright.tensor([4, 4, 4], dtype=kind)
        opwright.clamp(opwright.tensor([0, 5, 9], dtype=kind), low, high, out=high)
        assert high.tolist() == [3, 4, 4]


def test_an_operand_of_the_results_shape_is_written() -> None:
    x = opwright.ones(2, 3)
    assert opwright.add(x, opwright.ones(3), out=x) is x
    assert x.tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("index", [None, (None, None), slice(None), ..., (None, ..., None)])
def test_a_tensor_is_written_to_itself(index: Any) -> None:
    x = opwright.arange(3)
    x[index] = x if index != (None, ..., None) else x[:, None]
    assert x.tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:] = x[:-1]


@pytest.mark.parametrize("has_graph", [False, True])
def test_a_leaf_that_out_resized_has_gradients_of_its_new_shape(has_graph: bool) -> None:
    w = opwright.ones(2, requires_grad=True)
    before = (w * 3).sum() if has_graph else None
    with opwright.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opwright.add(opwright.ones(3), 1, out=w)
    (w * 2).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0, 2.0]
    if before is not None:
        with pytest.raises(RuntimeError, match=r"shape \[2\] for a leaf whose shape is \[3\]"):
            before.backward()
    with pytest.raises(RuntimeError, match="cannot resize"):
        w.resize_(5)


KINDS = ("bool", "uint8", "int8", "int64", "float32", "float64", "float16", "complex64")


def filled(library: Any, kind: str, other: str, mask: Any, value: Any, accumulate: bool) -> Any:
    x = library.zeros(3, dtype=getattr(library, kind))
    values = library.tensor(value, dtype=getattr(library, other))
    try:
        return x.index_put_((library.tensor(mask),), values, accumulate).tolist()
    except RuntimeError as error:
        return str(error).split("match")[0].split(" to type")[0]


FILLS = [([True, False, True], 1), ([True, False, True], [1]), ([0, 2], 1), ([True, False, True], [1, 1])]


@pytest.mark.oracle
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_casts_as_pytorch_does(kind: str, accumulate: bool) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    for other in KINDS:
        for mask, value in FILLS:
            given = kind, other, mask, value, accumulate
            assert filled(opwright, *given) == filled(torch, *given), given


def test_one_element_at_a_mask_is_cast() -> None:
    mask = [True, False, True]
    assert filled(opwright, "uint8", "bool", mask, True, False) == [1, 0, 1]
    assert filled(opwright, "float32", "complex64", mask, 2, False) == [2.0, 0.0, 2.0]
    assert "cannot be converted" in filled(opwright, "float32", "complex64", mask, 2j, False)
    assert "destination dtypes" in filled(opwright, "uint8", "bool", mask, True, True)
    x, v = opwright.zeros(3), opwright.tensor(2.0, dtype=opwright.float64, requires_grad=True)
    x.index_put((opwright.tensor(mask),), v).sum().backward()
    assert (v.grad.item(), v.grad.dtype) == (2.0, opwright.float64)


REDUCTIONS: dict[str, Any] = {
    "sum": lambda o, x, out: o.sum(x, 0, out=out),
    "prod": lambda o, x, out: o.prod(x, 0, out=out),
    "cumsum": lambda o, x, out: o.cumsum(x, 0, out=out),
    "cumprod": lambda o, x, out: o.cumprod(x, 0, out=out),
    "mean": lambda o, x, out: o.mean(x, 0, out=out),
    "nansum": lambda o, x, out: o.nansum(x, 0, out=out),
}


def reduced(library: Any, name: str, source: str, kind: str) -> Any:
    x = (library.ones(5) * 1.1).to(getattr(library, source))
    out = library.zeros(5 if name.startswith("cum") else (), dtype=getattr(library, kind))
    try:
        return REDUCTIONS[name](library, x, out).tolist()
    except (RuntimeError, NotImplementedError):
        return "refused"


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_compute_in_the_dtype_of_out_as_in_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    for source in KINDS:
        for kind in KINDS:
            wanted = reduced(torch, name, source, kind)
            if wanted != "refused" and (name, kind) != ("nansum", "complex64"):  # (of complex numbers there is none)
                rel = 1e-2 if "float16" in (source, kind) else 1e-6
                assert reduced(opwright, name, source, kind) == pytest.approx(wanted, rel=rel), (source, kind)


def test_reductions_compute_in_the_dtype_of_out() -> None:
    assert reduced(opwright, "sum", "float32", "int64") == 5
    assert reduced(opwright, "cumprod", "float32", "uint8") == [1] * 5
    assert reduced(opwright, "sum", "float32", "float64") == opwright.full((5,), 1.1).double().sum().item()
    assert reduced(opwright, "mean", "float32", "int64") == "refused"
    with opwright.fake.FakeTensorMode():
        out = opwright.zeros((), dtype=opwright.int64)
        assert opwright.sum(opwright.ones(5), 0, out=out) is out
