"""Several values for one place, as they are brought together on other array modules than NumPy."""

from __future__ import annotations

import types

import numpy as np
import pytest
import seeds

from opwright_kernels.moving.scattering import accumulate

# NumPy under another name, so that `ufunc.at` is not used.
OTHER = types.ModuleType("other")
vars(OTHER).update({name: getattr(np, name) for name in dir(np) if not name.startswith("__")})


@pytest.mark.parametrize("ufunc", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 64, 65])
@pytest.mark.parametrize("width", [(), (3,), (2, 2)])
def test_the_same_as_one_by_one(ufunc: str, count: int, width: tuple[int, ...]) -> None:
    rng = seeds.numpy_generator(count)
    target = rng.integers(-3, 4, (5, *width))
    index = rng.integers(0, 5, count)
    values = rng.integers(-3, 4, (count, *width))
    expected = target.copy()
    getattr(np, ufunc).at(expected, index, values)
    accumulate(OTHER, ufunc, target, index, values)
    assert np.array_equal(target, expected)
