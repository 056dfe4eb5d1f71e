"""Sizes that are NumPy integers, or tensors without dimensions, in functions and methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from both import check

pytestmark = pytest.mark.oracle

CALLS: list[Any] = [
    lambda t, x, n: t.ones(n),
    lambda t, x, n: t.ones(n, dtype=t.int64),
    lambda t, x, n: t.zeros(n, n),
    lambda t, x, n: t.zeros(np.int64(3)),
    lambda t, x, n: t.zeros(np.int32(3), 2),
    lambda t, x, n: t.full((n,), 2.0),
    lambda t, x, n: t.rand(n).shape,
    lambda t, x, n: t.ones(t.tensor(3.0)),
    lambda t, x, n: x.new_ones(n),
    lambda t, x, n: x.new_zeros(np.int64(2), 2),
    lambda t, x, n: x.view(np.int64(3), 2),
    lambda t, x, n: x.view((np.int64(3), n - 1)),
    lambda t, x, n: x.reshape(n, 2),
    lambda t, x, n: x.expand(n, 6),
    lambda t, x, n: x.repeat(np.int64(3)),
    lambda t, x, n: x.view(3, 2).permute(np.int64(1), 0),
]


@pytest.mark.parametrize("place", range(len(CALLS)))
def test_sizes(place: int) -> None:
    def programme(t: Any) -> Any:
        try:
            return CALLS[place](t, t.arange(6.0), t.tensor(3))
        except TypeError:
            return "TypeError"

    check(programme)
