"""Matrices of which one lies by rows and one by columns: values are NumPy's, and the result lies as the first."""

from __future__ import annotations

import numpy as np
import pytest
import seeds

import opwright

SHAPES = ((16, 16), (17, 300), (300, 33), (130, 257), (5, 70), (1, 40))
OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "lt": np.less,
}


def test_values_and_strides() -> None:
    rng = seeds.numpy_generator(0)
    for shape in SHAPES:
        for dtype in (np.float32, np.float64, np.int64, np.complex64):
            arrays = [(rng.standard_normal(each) * 9 + 20).astype(dtype) for each in (shape, shape[::-1])]
            rows, columns = opwright.from_numpy(arrays[0]), opwright.from_numpy(arrays[1]).t()
            for name, function in OPERATORS.items():
                if (dtype is np.complex64 and name in ("maximum", "lt")) or (dtype is np.int64 and name == "div"):
                    continue
                for first, second in ((rows, columns), (columns, rows)):
                    found = getattr(opwright, name)(first, second)
                    np.testing.assert_array_equal(found.numpy(), function(first.numpy(), second.numpy()))
                    assert 1 in shape or found.stride() == first.stride()


def test_errors_and_gradients() -> None:
    x, y = opwright.ones(40, 30), opwright.full((30, 40), 3.0)
    x.requires_grad_()
    (x.t() * y).sum().backward()
    assert (x.grad == 3).all() and x.grad.stride() == x.stride()
    huge = opwright.full((40, 40), 3e38)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        huge.t() + huge
