"""Misspelt names are told the nearest one that there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import opwright


@pytest.mark.parametrize("look, near", [
    (lambda: opwright.sofmax, "softmax"),
    (lambda: opwright.ops.aten.sofmax, "softmax"),
    (lambda: opwright.ops.aten.add.Tensorr, "Tensor"),
    (lambda: opwright.ops.atten.add, "aten"),
    (lambda: opwright.linalg.invv, "inv"),
    (lambda: opwright.special.softmx, "softmax"),
    (lambda: opwright.nn.functional.reluu, "relu"),
    (lambda: opwright.library.custom_opp, "custom_op"),
    (lambda: opwright.autograd.gradd, "grad"),
])  # fmt: skip
def test_attributes(look: Callable[[], Any], near: str) -> None:
    with pytest.raises(AttributeError, match=rf"; did you mean '{near}'\?$"):
        look()


def test_operators_by_name() -> None:
    with pytest.raises(RuntimeError, match=r"aten::sofmax.int does not exist; did you mean 'aten::softmax.int'\?"):
        opwright.library.get_kernel("aten::sofmax.int", "CPU")


def test_nothing_is_near() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'xyzzy'$"):
        _ = opwright.xyzzy
    with pytest.raises(AttributeError, match=r"nothing is defined in xyzzy$"):
        _ = opwright.ops.xyzzy.f
