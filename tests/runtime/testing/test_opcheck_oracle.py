"""`opcheck` and `SchemaCheckMode` beside PyTorch's: the same verdicts on the same operators."""

from __future__ import annotations

from typing import Any

import pytest

import opwright
from opwright.testing import SchemaCheckMode

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
TorchMode = pytest.importorskip("torch._subclasses.schema_check_mode").SchemaCheckMode
pytestmark = pytest.mark.oracle


def verdicts(library: Any, schema: str, kernel: Any, fake: Any, *, grad: bool) -> list[str]:
    """The tests that fail."""
    lib = library.library.Library("verdicts", "DEF")
    try:
        lib.define(schema)
        lib.impl("f", kernel, "CPU")
        library.library.register_fake("verdicts::f", fake, lib=lib)
        x = library.ones(3, 4).requires_grad_(grad)
        found = library.library.opcheck(library.ops.verdicts.f.default, (x,), raise_exception=False)
    finally:
        lib._destroy()
    return [test for test, result in found.items() if result != "SUCCESS"]


@pytest.mark.parametrize(
    "schema, kernel, fake, grad",
    [
        ("f(Tensor x) -> Tensor", lambda x: x.clone(), lambda x: x.clone(), False),
        ("f(Tensor x) -> Tensor", lambda x: x, lambda x: x.clone(), False),
        ("f(Tensor x) -> Tensor", lambda x: x.view(12), lambda x: x.view(12), False),
        ("f(Tensor x) -> Tensor", lambda x: x.mul_(2).clone(), lambda x: x.clone(), False),
        ("f(Tensor x) -> Tensor", lambda x: x.clone(), lambda x: x.new_empty(4, 3), False),
        ("f(Tensor x) -> Tensor", lambda x: x.clone(), lambda x: x.double(), False),
        ("f(Tensor x) -> Tensor", lambda x: x.sin(), lambda x: x.clone(), True),
    ],
)
def test_verdicts(schema: str, kernel: Any, fake: Any, grad: bool) -> None:
    ours = verdicts(opwright, schema, kernel, fake, grad=grad)
    theirs = verdicts(torch, schema, kernel, fake, grad=grad)
    assert bool(ours) == bool(theirs) and ours[:1] == theirs[:1]


@pytest.mark.parametrize("library, mode", [(torch, TorchMode), (opwright, SchemaCheckMode)])
def test_operators_of_a_block(library: Any, mode: Any) -> None:
    x = library.full((2, 3), 2.0)
    with mode() as checked:
        x.mul_(x)
        x.t().add(1)
    assert checked.ops == ["aten::mul_", "aten::t", "aten::add"]
    assert [tuple(vars(each).values()) if hasattr(each, "__dict__") else tuple(each) for each in checked.mutated] in (
        [("aten::mul_", "input"), ("aten::mul_", "other")],
    )
    assert {each.op_name for each in checked.aliasing} == {"aten::mul_", "aten::t"}
