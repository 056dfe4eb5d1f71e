"""Functions of one number, written into columns: what NumPy computes in the place of an operand may be wrong."""

from __future__ import annotations

import numpy as np
import pytest

import opwright

FUNCTIONS = (
    "neg_", "abs_", "sign_", "sqrt_", "exp_", "floor_", "ceil_", "trunc_", "round_", "reciprocal_", "square_",
    "tanh_", "sin_", "logical_not_", "bitwise_not_",
)  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int8", "int16", "int32", "int64"])
def test_columns(name: str, dtype: str) -> None:
    for columns in (2, 3, 4, 5, 8, 16, 32, 64):
        numbers = np.arange(1, 12 * columns + 1).reshape(12, columns) % 7 + 1
        x = opwright.tensor(numbers.astype(dtype))
        column = x[:, 1]
        try:
            expected = getattr(column.clone(), name)()
        except (RuntimeError, NotImplementedError):
            return
        getattr(column, name)()
        assert column.tolist() == expected.tolist(), columns
