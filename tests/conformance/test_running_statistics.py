"""Operators that update running statistics in place leave what PyTorch's leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sampling import FLOAT32, FLOAT64, make

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import value_difference  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def statistics(dtype: np.dtype) -> list[np.ndarray]:
    return [make((3,), dtype, seed=seed, low=1, high=5) for seed in range(2)]


OPERATORS = {
    "native_batch_norm": (),
    "_native_batch_norm_legit": (),
    "batch_norm": (False,),
    "instance_norm": (False,),
}


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", OPERATORS)
def test_what_stays_behind(name: str, training: bool, dtype: np.dtype) -> None:
    def after(aten: Any, wrap: Any) -> list[Any]:
        running = [wrap(each) for each in statistics(dtype)]
        x = wrap(make((2, 3, 4, 5), dtype))
        getattr(aten, name)(x, None, None, *running, training, 0.3, 1e-5, *OPERATORS[name])
        return running

    ours = after(opwright.ops.aten, opwright.from_numpy)
    theirs = after(torch.ops.aten, torch.from_numpy)
    assert [value_difference(a.array, b.numpy()) for a, b in zip(ours, theirs, strict=True)] == [None, None]
    assert training != all(np.array_equal(a.array, b) for a, b in zip(ours, statistics(dtype), strict=True))


def test_plain_arrays_are_updated_too() -> None:
    mean, var = statistics(FLOAT32)
    before = mean.copy()
    opwright.ops.aten.native_batch_norm(make((2, 3, 4), FLOAT32), None, None, mean, var, True, 0.3, 1e-5)
    assert not np.array_equal(mean, before)
