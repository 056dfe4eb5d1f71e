"""Sums and means over the first dimensions, as of a bias's gradient: NumPy's to the bit, in either mode."""

from __future__ import annotations

import numpy as np
import pytest
import seeds

import opwright

SHAPES = ((9, 3), (256, 10), (1000, 17), (33, 1200), (8, 128, 25), (3, 1, 700, 2), (2, 5), (70, 4, 1, 20))


def test_rows_are_added_one_after_another() -> None:
    rng = seeds.numpy_generator(0)
    for shape in SHAPES:
        for dtype in (np.float32, np.float64):
            array = rng.standard_normal(shape).astype(dtype)
            array[-1, ..., 0] = np.nan
            x = opwright.from_numpy(array)
            for over in range(1, len(shape) - (shape[-1] == 1)):
                dims = tuple(range(over))
                for keepdim in (False, True):
                    expected = np.add.reduce(array, dims, keepdims=keepdim)
                    found = x.sum(dims, keepdim)
                    assert found.numpy().tobytes() == expected.tobytes() and found.shape == expected.shape
                    mean = expected / dtype(np.prod(shape[:over]))
                    assert x.mean(dims, keepdim).numpy().tobytes() == mean.tobytes()


def test_an_overflow_is_told() -> None:
    x = opwright.from_numpy(np.full((100, 100), 1e38, np.float32))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        x.sum(0)
