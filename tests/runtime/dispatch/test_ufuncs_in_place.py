"""Ufuncs on dense tensors: numbers as they were given, in-place calls on memory that tensors share."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor

DTYPES = (opwright.float32, opwright.float64, opwright.complex64, opwright.int64)


def test_numbers_that_are_equal_stay_what_they_are() -> None:
    for dtype in (opwright.float32, opwright.float64):
        x = opwright.ones(3, dtype=dtype)
        for _ in range(2):  # the second call finds what the first one kept
            signs = [np.signbit(opwright.mul(x, zero).numpy()).all() for zero in (0.0, -0.0, 0)]
            assert signs == [False, True, False]
            with pytest.raises(RuntimeError, match="bool"):
                opwright.sub(x, True)
            assert opwright.sub(x, 1).tolist() == [0, 0, 0]
    assert opwright.add(opwright.ones(2), 0.1).dtype == opwright.float32
    assert opwright.add(opwright.ones(2, dtype=opwright.int64), 1.5).dtype == opwright.float32


def test_a_number_beyond_the_dtype_is_one_each_time() -> None:
    x = opwright.ones(2)
    for value, expected in ((1e300, np.inf), (2**70, 2.0**70), (float("nan"), np.nan)):
        for _ in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                np.testing.assert_array_equal(opwright.add(x, value).numpy(), np.full(2, expected, np.float32))


def test_many_numbers_are_not_kept() -> None:
    x = opwright.ones(2)
    for number in range(600):
        assert opwright.mul(x, number / 2).tolist() == [number / 2] * 2


WRITES: tuple[tuple[str, Callable[..., Any], Callable[..., Any]], ...] = (
    ("add_", lambda x, y: x.add_(y), lambda a, b: a + b),
    ("sub_ alpha", lambda x, y: x.sub_(y, alpha=2), lambda a, b: a - 2 * b),
    ("mul_", lambda x, y: x.mul_(y), lambda a, b: a * b),
    ("neg_", lambda x, y: x.neg_(), lambda a, b: -a),
    ("number", lambda x, y: x.mul_(2), lambda a, b: a * 2),
)


@pytest.mark.parametrize(("name", "write", "expected"), WRITES, ids=[name for name, *_ in WRITES])
def test_what_is_written_in_place_is_what_a_copy_says(name: str, write: Any, expected: Any) -> None:
    def operands(dtype: Any) -> list[tuple[Tensor, Tensor]]:
        whole = opwright.arange(12).to(dtype).reshape(4, 3)
        return [
            (whole, opwright.arange(3).to(dtype)),  # broadcast
            (whole, whole),
            (whole[0], whole[1]),  # one owner
            (whole[0], opwright.ones(3, dtype=dtype)),
            (whole, whole.view(4, 3)),
        ]

    for dtype in DTYPES:
        for index in range(5):
            x, y = operands(dtype)[index]
            before, version = expected(x.numpy().copy(), y.numpy().copy()), x._version
            assert write(x, y) is x
            np.testing.assert_array_equal(x.numpy(), before)
            assert x._version == version + 1


def test_what_does_not_fit_is_not_written() -> None:
    x = opwright.ones(3)
    for other, error in (
        (opwright.ones(2, 3), RuntimeError),
        (opwright.ones(3, dtype=opwright.complex64), RuntimeError),
    ):
        with pytest.raises(error):
            x.add_(other)
    with pytest.raises(RuntimeError):
        opwright.ones(3, dtype=opwright.int64).add_(opwright.ones(3))
    whole = opwright.arange(4.0)
    with pytest.raises(RuntimeError, match="memory location"):
        whole[1:].add_(whole[:-1])
    assert whole.tolist() == [0, 1, 2, 3] and x.tolist() == [1, 1, 1]
