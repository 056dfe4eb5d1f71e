"""Kernels of a user's package are served as ATen's: few calls of ours, and what they return is looked at each time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pipeline import generate, imported, new_namespace
from python_calls import calls_of

import opwright
from opwright.errors import ContractError
from opwright_core.core import fast
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import DispatchKey

ENTRIES = """
- func: NS::scaled(Tensor x, *, float by=2.0) -> Tensor
  meta: like(x)
  dispatch: {CPU: scaled}
- func: NS::joined(Tensor x, Tensor y) -> Tensor
  meta: pointwise(x, y)
  dispatch: {CPU: joined}
- func: NS::fickle(Tensor x, str what) -> Tensor
  autogen: fickle.out
  meta: like(x)
  dispatch: {CPU: fickle}
- func: NS::whole(Tensor x) -> Tensor
"""
KERNELS = """
import numpy as np

calls = []

def scaled(x, by):
    return x * by
def joined(x, y):
    return x + y
def fickle(x, what):
    calls.append(what)
    if what == "raise" and len(calls) > 3:
        raise ValueError("of the user")
    found = {"raise": x + 1, "shape": x[:1], "dtype": x.astype(np.complex128), "none": None, "good": x + 1}
    return found[what if len(calls) > 3 else "good"]
def whole(x):
    return 3
"""


SPACE = new_namespace()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("rows")
    with imported(generate(folder, ENTRIES.replace("NS", SPACE), kernels=KERNELS)) as found:
        yield found


@pytest.fixture
def ops(package: Any) -> Any:
    return getattr(opwright.ops, SPACE)


@pytest.mark.parametrize("name", ["scaled", "joined"])
def test_calls_of_a_python_kernel(package: Any, name: str) -> None:
    """With the compiled core: on plain arrays one function of ours and the kernel, on Tensors the kernel alone."""
    function = getattr(package.ops, name)
    x, t = np.ones((2, 3)), opwright.ones(2, 3)
    arrays, tensors = (
        (lambda: function(x), lambda: function(t))
        if name == "scaled"
        else (lambda: function(x, x), lambda: function(t, t))
    )
    most = (2, 1) if fast is not None else (12, 8)  # (the last is `Tensor.__new__`, which takes sizes, too)
    assert len(calls_of(arrays)) <= most[0], calls_of(arrays)
    assert len(calls_of(tensors)) <= most[1], calls_of(tensors)


@pytest.mark.parametrize("what", ["shape", "dtype", "none"])
def test_what_a_kernel_returns_later_is_looked_at(ops: Any, what: str) -> None:
    """The first calls of a key are good, and planned; the fourth is not."""
    calls = sys.modules["hostile_kernels"].calls
    x = opwright.ones(2, 3)
    for call in (lambda: ops.fickle(x, what), lambda: ops.fickle(x, what, out=opwright.empty(2, 3))):
        calls.clear()
        for _ in range(3):
            assert call().tolist() == [[2.0] * 3] * 2
        with pytest.raises(ContractError, match=r"the kernel for CPU, `hostile_kernels.fickle\(x, what\)`,.* returned"):
            call()


def test_a_kernel_that_raises_is_called_once(ops: Any) -> None:
    """Also where its plan is known, and the compiled core calls it."""
    calls, x = sys.modules["hostile_kernels"].calls, opwright.ones(2, 3)
    calls.clear()
    for _ in range(3):
        ops.fickle(x, "raise")
    for count in range(4, 7):
        with pytest.raises(ValueError, match="of the user") as error:
            ops.fickle(x, "raise")
        assert len(calls) == count
        (note,) = error.value.__notes__
        assert note.startswith(f"In the kernel of {ops.fickle.default.name} for CPU, declared at ops.yaml:")


def test_trust_is_a_flag_of_the_registration(ops: Any) -> None:
    """What a user's composite returns is checked; ATen's, by its package, is not."""
    with pytest.raises(RuntimeError, match="Tensor"):
        ops.whole(opwright.ones(2))
    for name, is_trusted in ((ops.scaled.default.name, False), ("aten::sum.dim_IntList", True)):
        (registration,) = registry.operators[name].registrations[DispatchKey.CPU]
        assert registration.kernel.is_trusted is is_trusted  # type: ignore[union-attr]
