"""`clamp` of integers by numbers that their dtype does not hold, in every way to call it.

Semantics: PyTorch 2.15. Versions before wrapped the number around, or refused it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright

DTYPES = ("uint8", "int8", "int16", "int32", "int64", "uint16")
BOUNDS = (
    (-5, 200),
    (-200, 3),
    (None, 300),
    (-1, None),
    (-(2**31) - 5, 2**31 + 5),
    (0, 70_000),
    (-129, 127),
    (300, None),
)
VALUES = [0, 1, 100]
_CLAMP_MIN_, _CLAMP_MAX_ = opwright.Tensor.clamp_min_, opwright.Tensor.clamp_max_


def _once(x: Any, function: Any, bound: int | None) -> Any:
    return x if bound is None else function(x, bound)


WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "function": lambda x, low, high: opwright.clamp(x, low, high),
    "in place": lambda x, low, high: x.clone().clamp_(low, high),
    "out": lambda x, low, high: opwright.clip(x, low, high, out=opwright.empty(0, dtype=x.dtype)),
    "arrays": lambda x, low, high: opwright.tensor(opwright.clamp(x.numpy(), low, high)),
    "vmap": lambda x, low, high: opwright.vmap(lambda each: each.clamp(low, high))(x),
    "one by one": lambda x, low, high: _once(_once(x, opwright.clamp_min, low), opwright.clamp_max, high),
    "one by one, in place": lambda x, low, high: _once(_once(x.clone(), _CLAMP_MIN_, low), _CLAMP_MAX_, high),
    "strided": lambda x, low, high: opwright.stack([x, x], 1)[:, 0].clamp(low, high),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DTYPES)
def test_bounds_beyond_the_dtype(name: str, way: str) -> None:
    x = opwright.tensor(VALUES, dtype=name)
    info = np.iinfo(name)
    for low, high in BOUNDS:
        is_refused = (low is not None and low > info.max) or (high is not None and high < info.min)
        for _ in range(3):  # plans are kept
            if is_refused:
                with pytest.raises(RuntimeError, match="outside the representable range of"):
                    WAYS[way](x, low, high)
                continue
            found = WAYS[way](x, low, high)
            raised = VALUES if low is None else [max(each, low) for each in VALUES]
            wanted = raised if high is None else [min(each, high) for each in raised]
            assert (found.tolist(), found.dtype) == (wanted, x.dtype), (low, high)


def test_without_data_the_same_is_refused() -> None:
    x = opwright.empty(2, dtype=opwright.uint8, device="meta")
    assert opwright.clamp(x, -1, 300).dtype == opwright.uint8
    with pytest.raises(RuntimeError, match="Clamp max value -1 is outside the representable range of Byte"):
        opwright.clamp(x, max=-1)


def test_floating_bounds_promote() -> None:
    found = opwright.clamp(opwright.tensor([1, 200], dtype=opwright.uint8), -1.5, 300)
    assert (found.tolist(), found.dtype) == ([1.0, 200.0], opwright.float32)
