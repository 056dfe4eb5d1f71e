"""Norms and distances, their gradients and tangents, where they have corners: equal to PyTorch's in one process."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from excuses import Known, Table

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

INF, NAN = float("inf"), float("nan")
ORDERS = (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1, NAN)
VALUES = {
    "zeros": (0.0, 0.0, 0.0),
    "ties": (3.0, -3.0, 1.0),
    "a zero": (3.0, 0.0, -1.0),
    "NaN": (NAN, 1.0, 0.0),
    "infinite": (INF, -2.0, 0.0),
    "both infinities": (INF, -INF, 1.0),
    "one": (2.0,),
    "nothing": (),
}
Function = Callable[..., Any]
NORMS: dict[str, Callable[[Any, float], Function]] = {
    "norm": lambda lib, p: lambda x: x.norm(p),
    "norm, dim": lambda lib, p: lambda x: x.norm(p, 0),
    "vector_norm": lambda lib, p: lambda x: lib.linalg.vector_norm(x, p, -1, keepdim=True),
    "renorm": lambda lib, p: lambda x: lib.renorm(x.reshape(1, -1), p, 0, 1.0),
}
DISTANCES: dict[str, Callable[[Any, float], Function]] = {
    "dist": lambda lib, p: lambda x, y: lib.dist(x, y, p),
    "cdist": lambda lib, p: lambda x, y: lib.cdist(x.reshape(1, -1), y.reshape(1, -1), p),
    "pdist": lambda lib, p: lambda x, y: lib.nn.functional.pdist(lib.stack([x, y]), p),
}
KNOWN = Table(
    "test_norm_corners.KNOWN",
    Known("norm.*|vector_norm|dist", r"p=nan (one|nothing)", "of one element PyTorch does not look at p"),
    Known("dist", r"p=0 .*gradient", "PyTorch raises: it negates a gradient that is undefined"),
    Known("renorm", r"p=inf .*infinit.*gradient", "elements that are 0 after it have a gradient of 0, not NaN"),
    Known("cdist", r"p=inf (NaN|infinite infinite|both).*value", "PyTorch's maximum leaves NaN out"),
    Known("[cp]dist", r"p=(inf|0.5) (NaN|infinite|both).*gradient", "PyTorch's has other elements than its norm's"),
)


def outcome(lib: Any, function: Function, values: tuple[tuple[float, ...], ...]) -> dict[str, Any]:
    """Return the value, the gradients and the tangent by name; for an error its text."""
    inputs = [lib.tensor(each, dtype=lib.float64, requires_grad=True) for each in values]
    try:
        value = function(*inputs)
    except RuntimeError as error:
        return {"value": f"{error}"}
    found = {"value": value.detach().numpy()}
    if value.requires_grad:
        try:
            gradients = lib.autograd.grad(value.sum(), inputs, allow_unused=True)
        except RuntimeError as error:
            return found | {"gradient": f"{error}"}
        found |= {f"gradient {i}": each if each is None else each.numpy() for i, each in enumerate(gradients)}
    return found


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("name", [*NORMS, *DISTANCES])
def test_values_and_gradients(name: str, p: float) -> None:
    make = (NORMS | DISTANCES)[name]
    given = list(itertools.product(VALUES, ("a zero",) if name in DISTANCES else ("",)))
    given += [(each, each) for each in VALUES] if name in DISTANCES else []
    for names in given:
        values = tuple(VALUES[each] for each in names if each)
        if len({len(each) for each in values}) > 1:
            continue
        ours, theirs = (outcome(lib, make(lib, p), values) for lib in (opwright, torch))
        for part in ours.keys() | theirs.keys():
            left, right = ours.get(part, "nothing"), theirs.get(part, "nothing")
            problem = f"p={p:g} {' '.join(names)}, {part}: {left}, not {right}"
            assert _same(left, right) or KNOWN.covers(name, problem), problem


def _same(left: Any, right: Any) -> bool:
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
        return type(left) is type(right)
    return left.shape == right.shape and np.allclose(left, right, rtol=1e-7, atol=1e-15, equal_nan=True)


def test_a_norm_that_counts_has_no_gradient() -> None:
    x = opwright.tensor([3.0, 0.0], requires_grad=True)
    (x.norm(0) + opwright.linalg.vector_norm(x, 0)).backward()
    assert x.grad is None
    y = opwright.tensor([1.0, 0.0], requires_grad=True)
    opwright.dist(x, y, 0).backward()
    assert x.grad is None and y.grad is None
    assert opwright.func.grad(lambda each: each.norm(0))(opwright.ones(2)).tolist() == [0, 0]
    tangent = opwright.func.jvp(lambda each: each.norm(0), (opwright.ones(2),), (opwright.ones(2),))[1]
    assert tangent.item() == 0
