"""NumPy's functions on Tensors beside the same calls on arrays: values, shapes and dtypes."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy_calls import CALLS, Call

import opwright

# Calls with an array first and a Tensor last that differ from the call on arrays, and the reasons.
DIFFERENCES = {
    r"np\.(add|divide|floor_divide|multiply|power|remainder|subtract)\(P, SINGLE": (
        "`array + tensor` is the operator of Python, which promotes dtypes as `tensor + array` does"
    ),
    r"np\.(repeat|take)\(": "NumPy dispatches by the first argument only",
}


def tensors(value: Any, places: range, counted: Iterator[int]) -> Any:
    """Return Tensors for the arrays at some places of all arrays, also of those in lists."""
    if isinstance(value, dict):
        return {name: tensors(each, places, counted) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([tensors(each, places, counted) for each in value])
    return opwright.tensor(value) if isinstance(value, np.ndarray) and next(counted) in places else value


def arrays(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return sum(map(arrays, value))
    return isinstance(value, np.ndarray)


def compare(found: Any, expected: Any) -> None:
    """Compare results of NumPy with results for Tensors. Arrays and numbers of NumPy correspond to Tensors."""
    if isinstance(expected, (list, tuple)) and any(isinstance(each, (np.ndarray, np.generic)) for each in expected):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for each, wanted in zip(found, expected, strict=True):
            compare(each, wanted)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert isinstance(found, opwright.Tensor)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        precision = np.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
        np.testing.assert_allclose(found.numpy(), np.array(expected), rtol=20 * precision, atol=20 * precision)
    else:
        assert type(found) is type(expected)
        assert found == expected


@pytest.mark.parametrize("given", CALLS, ids=lambda call: call.text)
def test_a_call_gives_what_it_gives_for_arrays(given: Call) -> None:
    count = arrays(given.args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = given.function(*given.args, **given.options)
        for places in (range(99), *((range(1), range(count - 1, count)) if count > 1 else ())):
            args, options = tensors((given.args, given.options), places, itertools.count())
            found = given.function(*args, **options)
            if places.start == 0 or not any(re.match(pattern, given.text) for pattern in DIFFERENCES):
                compare(found, expected)


def test_the_calls_are_many_and_differ() -> None:
    names = [each.text for each in CALLS]
    assert len(set(names)) == len(names) > 1000
    for pattern in DIFFERENCES:
        assert any(re.match(pattern, each) for each in names)
