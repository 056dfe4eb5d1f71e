"""Methods of Tensor that are more than their operator."""

from __future__ import annotations

import pytest

import opwright


def test_to_takes_a_device_first() -> None:
    x = opwright.ones(2, 3)
    assert x.to("cpu") is x.to(opwright.device("cpu")) is x
    assert x.to("cpu", opwright.float64).dtype == opwright.float64
    assert x.to("float16").dtype == opwright.float16
    assert x.to("cpu", copy=True) is not x
    with pytest.raises(opwright.ArgumentError, match="nonsense"):
        x.to("nonsense")


def test_an_int_by_position_is_a_dimension() -> None:
    x = opwright.tensor([[1.0, 2.0, 4.0], [1.0, 5.0, 9.0]])
    for name in ("std", "var", "sum", "mean", "prod", "amax", "any"):
        reduced = getattr(x, name)
        assert reduced(1).shape == reduced(dim=1).shape == (2,)
        assert reduced(1).tolist() == reduced(dim=1).tolist()
    assert x.std(False).shape == ()
