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
