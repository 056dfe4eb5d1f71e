"""A scaled product of matrices and something added to it: infinite only where the product or the sum is too large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import seeds

import opwright

Array = np.ndarray[Any, Any]
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "addmm": ((5, 7), (5, 3), (3, 7)),
    "addmm of a row": ((7,), (5, 3), (3, 7)),
    "addmv": ((5,), (5, 3), (3,)),
    "baddbmm": ((2, 5, 7), (2, 5, 3), (2, 3, 7)),
    "addbmm": ((5, 7), (2, 5, 3), (2, 3, 7)),
    "addr": ((5, 7), (5,), (7,)),
}
PRODUCTS: dict[str, Callable[[Array, Array], Array]] = {
    "addbmm": lambda first, second: np.matmul(first, second).sum(axis=0),
    "addr": np.outer,
}


@pytest.mark.parametrize("beta", [1.0, 0.5])
@pytest.mark.parametrize("name", SHAPES)
def test_scaled_products(name: str, beta: float) -> None:
    """Products of 10³⁷, scaled by 100, beside sums of 10³⁸: computed in float64, these are exact enough."""
    random = seeds.numpy_generator(name)
    added, first, second = (random.uniform(-1, 1, shape) for shape in SHAPES[name])
    given = [(added * 3.4e38).astype(np.float32), (first * 3e18).astype(np.float32), (second * 3e18).astype(np.float32)]
    ours = getattr(opwright, name.partition(" ")[0])(*given, beta=beta, alpha=100.0)
    exact, left, right = (each.astype(np.float64) for each in given)
    with np.errstate(over="ignore"):
        wanted = (beta * exact + 100.0 * PRODUCTS.get(name, np.matmul)(left, right)).astype(np.float32)
    assert np.array_equal(np.isfinite(ours), np.isfinite(wanted))
    np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e33)
