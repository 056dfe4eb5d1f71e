"""What passes as exact beside PyTorch: roundings, and nothing more."""

from __future__ import annotations

import numpy as np
import pytest
from sampling import FLOAT16, FLOAT32, sample

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from exactness import is_as_exact, is_as_near  # noqa: E402

import opwright  # noqa: E402

pytestmark = pytest.mark.oracle

EXACT = np.array([1000.0, 0.1, -3.0])


def near(mine: object, other: object, dtype: np.dtype, *, is_sum: bool, exact: object = EXACT) -> bool:
    return is_as_near(*(np.asarray(each, dtype) for each in (mine, other)), np.asarray(exact, np.float64), is_sum)


def test_short_floats_are_the_exact_numbers_rounded_once() -> None:
    """However far PyTorch's are: sums have the places of the largest, and everything else its own."""
    far = [1100.0, 0.5, -2.0]
    assert near(EXACT, far, FLOAT16, is_sum=False)
    assert near([1000.0, 0.9, -3.0], far, FLOAT16, is_sum=True)  # a place of 1000 is 0.5, and eps times it 0.98
    assert not near([1000.0, 0.9, -3.0], far, FLOAT16, is_sum=False)
    assert not near([1000.0, 0.1002, -3.0], far, FLOAT16, is_sum=False)
    assert not near([1002.0, 0.1, -3.0], far, FLOAT16, is_sum=True)


def test_float32_is_about_as_near_as_pytorchs() -> None:
    theirs = [1000.0, 0.1003, -3.0]
    assert near([1000.0, 0.1, -2.999], theirs, FLOAT32, is_sum=True)
    assert not near([1000.0, 0.1, -2.99], theirs, FLOAT32, is_sum=True)
    assert not near(EXACT, [1000.0, 50.0, -3.0], FLOAT32, is_sum=True)  # which is of something else
    assert not near(EXACT, theirs, FLOAT32, is_sum=False)


def test_what_is_not_finite_is_the_same() -> None:
    exact = [np.nan, np.inf, 1e5]
    assert near([np.nan, np.inf, 1.0], [0.0, 0.0, 0.0], FLOAT16, is_sum=False, exact=[np.nan, np.inf, 1.0])
    assert not near([np.nan, np.inf, np.inf], [np.nan, np.inf, np.inf], FLOAT16, is_sum=True, exact=exact)
    assert not near([0.0, np.inf, 1.0], [np.nan, np.inf, 1.0], FLOAT16, is_sum=True, exact=[np.nan, np.inf, 1.0])


def test_a_sum_in_a_dtype_that_is_asked_for() -> None:
    """PyTorch rounds the terms first: 1000.4 + 0.4 - 1000.8 of float16 is not nearly 0."""
    one = sample(np.array([1000.4, 0.4, -1000.8], np.float32), dtype=FLOAT16)
    mine = opwright.sum(opwright.from_numpy(one.args[0]), dtype=opwright.float16)
    other = torch.sum(torch.from_numpy(one.args[0]), dtype=torch.float16)
    assert abs(float(mine) - float(other)) > 0.01  # where PyTorch's is -0.1, and 3.7e-5 is exact
    assert is_as_exact("sum", one, mine, other, torch.sum)
