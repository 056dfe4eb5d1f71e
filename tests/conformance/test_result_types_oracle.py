"""What operators return is of PyTorch's Python types: at functions, methods, packets and overloads."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from known_versions import is_not_there
from samples import SAMPLES

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

Call = Callable[..., Any]
_SHOWN = {opwright.Tensor: "Tensor", torch.Tensor: "Tensor"}


def shown(value: Any) -> str:
    """The type, and those of what a list or tuple holds; results with names are tuples."""
    if isinstance(value, list | tuple):
        inner = ", ".join(dict.fromkeys(map(shown, value)))
        return f"{'list' if isinstance(value, list) else 'tuple'}[{inner}]"
    return _SHOWN.get(type(value), type(value).__name__)


def result_type(function: Call, args: tuple[Any, ...], kwargs: dict[str, Any], to: Call) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            named = {name: to(copy.deepcopy(value)) for name, value in kwargs.items()}
            return shown(function(*(to(copy.deepcopy(arg)) for arg in args), **named))
        except Exception:
            return None


def callables(name: str) -> Iterator[tuple[str, Call, Call]]:
    base, _, overload = name.partition(".")
    ours, theirs = getattr(opwright.ops.aten, base), getattr(torch.ops.aten, base)
    yield "ops.aten", ours, theirs
    yield "overload", getattr(ours, overload or "default"), getattr(theirs, overload or "default")
    short = base.removeprefix("linalg_")
    for where, mine, other, attribute in (
        ("function", opwright, torch, base),
        ("method", opwright.Tensor, torch.Tensor, base),
        ("linalg", opwright.linalg, torch.linalg, short if short != base else "no name"),
        ("nn.functional", opwright.nn.functional, torch.nn.functional, base),
    ):
        if not base.startswith("__") and hasattr(mine, attribute) and hasattr(other, attribute):
            yield where, getattr(mine, attribute), getattr(other, attribute)


# A list among several results stays one; PyTorch's Python function makes a tuple of it.
LISTS = ("histogramdd.TensorList_bins",)


def test_types_of_results() -> None:
    found = []
    for name in SAMPLES:
        if is_not_there(name) or not hasattr(opwright.ops.aten, name.partition(".")[0]):
            continue
        for where, ours, theirs in callables(name):
            for one in (one for one, _ in zip(SAMPLES[name](), range(8), strict=False)):
                types = [
                    result_type(f, one.args, one.kwargs, to) for f, to in ((ours, to_opwright), (theirs, to_torch))
                ]
                if None not in types:
                    if types[0] != types[1] and name not in LISTS:
                        found.append(f"{where} {name}{one}: {types[0]}, not {types[1]}")
                    break
    assert not found, f"{len(found)}\n" + "\n".join(found)
