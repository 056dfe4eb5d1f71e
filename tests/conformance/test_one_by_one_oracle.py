"""Lists that may be passed in pieces: what PyTorch takes, ours take with the same results, over all operators."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from samples import SAMPLES
from sampling import Sample

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import call, difference, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

UNINITIALISED = ("empty", "new_empty", "rand", "randn", "resize")


def in_pieces(one: Sample) -> Iterator[Sample]:
    """The call with its last list of several items passed item by item, and what follows left out."""
    for position, value in enumerate(one.args):
        if isinstance(value, list) and value:
            yield Sample((*one.args[:position], *value), one.kwargs)


def functions_of(base: str) -> Iterator[tuple[Callable[..., Any], Callable[..., Any]]]:
    for ours, theirs in ((opwright, torch), (opwright.Tensor, torch.Tensor)):
        if not base.startswith("_") and hasattr(ours, base) and hasattr(theirs, base):
            yield getattr(ours, base), getattr(theirs, base)


def test_what_pytorch_takes_in_pieces() -> None:
    found, taken = [], 0
    for name in SAMPLES:
        base = name.partition(".")[0]
        for ours, theirs in functions_of(base):
            for one in islice((piece for whole in SAMPLES[name]() for piece in in_pieces(whole)), 12):
                other = call(theirs, one, to_torch)
                if isinstance(other, Exception):
                    continue
                taken += 1
                mine = call(ours, one, to_opwright)
                problem = difference(mine, other, values=not base.startswith(UNINITIALISED))
                if problem is not None:
                    found.append(f"{name}{one}: {problem}")
    assert taken > 100
    assert not found, f"{len(found)}\n" + "\n".join(found[:30])


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "meshgrid": lambda t, a, b: t.meshgrid(a, b, indexing="ij"),
    "meshgrid xy": lambda t, a, b: t.meshgrid(a, b, indexing="xy"),
    "meshgrid of a list": lambda t, a, b: t.meshgrid([a, b], indexing="ij"),
    "meshgrid of one": lambda t, a, b: t.meshgrid(a),
    "meshgrid otherwise": lambda t, a, b: t.meshgrid(a, b, indexing="ji"),
    "broadcast_tensors": lambda t, a, b: t.broadcast_tensors(a[:, None], b),
    "cartesian_prod": lambda t, a, b: t.cartesian_prod(a, b),
    "cartesian_prod of one": lambda t, a, b: t.cartesian_prod(a),
    "block_diag": lambda t, a, b: t.block_diag(a, b, t.ones(2, 2)),
    "block_diag of one": lambda t, a, b: t.block_diag(a),
    "atleast_1d": lambda t, a, b: t.atleast_1d(a, t.ones(())),
    "atleast_1d of one": lambda t, a, b: t.atleast_1d(t.ones(())),
    "atleast_2d of a tuple": lambda t, a, b: t.atleast_2d((a, b)),
    "atleast_3d": lambda t, a, b: t.atleast_3d(a, b),
    "atleast_3d method-like": lambda t, a, b: t.atleast_3d(a),
    "chain_matmul": lambda t, a, b: t.chain_matmul(t.ones(2, 3), t.ones(3, 2)),
    "einsum": lambda t, a, b: t.einsum("i,j->ij", a, b),
    "split": lambda t, a, b: t.split(a, 2),
    "split by name": lambda t, a, b: t.split(tensor=a, split_size_or_sections=[1, 2], dim=0),
    "method split": lambda t, a, b: a.split([1, 2], dim=0),
    "stack": lambda t, a, b: t.stack((a, a)),
    "tile": lambda t, a, b: a.tile(2, 1),
    "repeat": lambda t, a, b: a.repeat(2, 1),
    "new_ones": lambda t, a, b: a.new_ones(2, 1),
    "new_empty": lambda t, a, b: a.new_empty(2, 1).shape.numel(),
    "flip": lambda t, a, b: t.ones(2, 3).flip(0, 1),
    "movedim": lambda t, a, b: t.ones(2, 3).movedim((0, 1), (1, 0)),
    "unflatten": lambda t, a, b: a.unflatten(0, (3, 1)),
    "broadcast_to": lambda t, a, b: a.broadcast_to((2, 3)),
    "ones of a Size": lambda t, a, b: t.ones(t.Size([2]) + t.Size([3])),
    "randint": lambda t, a, b: t.randint(5, (2, 3)).shape.numel(),
}


@pytest.mark.parametrize("name", CALLS)
def test_call(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (
            call(
                lambda module=module: CALLS[name](module, module.arange(3.0), module.arange(3)), Sample(()), lambda v: v
            )
            for module in (opwright, torch)
        )
    assert difference(ours, theirs) is None
    assert isinstance(ours, tuple) is isinstance(theirs, tuple)
