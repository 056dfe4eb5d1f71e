"""Sums with a product, of numbers near the largest of a dtype: infinite where PyTorch's are, and nowhere else.

PyTorch rounds such a sum once, in vectors: so sizes are multiples of these. What is left over at the end it computes in
other steps for some dtypes and operators.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import seeds

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import to_torch  # noqa: E402

pytestmark = pytest.mark.oracle
COUNT = 256
DTYPES = ("float32", "float64", "float16", "bfloat16")  # (NumPy knows the last one through ml_dtypes)
Arrays = list[Any]

# Each with arrays of large numbers, a vector of small ones, and a number between -3 and 3.
CALLS: dict[str, Callable[[Any, Arrays, Any, float], Any]] = {
    "add": lambda of, large, small, number: of.add(large[0], large[1], alpha=number),
    "sub": lambda of, large, small, number: of.sub(large[0], large[1], alpha=number),
    "rsub": lambda of, large, small, number: of.rsub(large[0], large[1], alpha=number),
    "add broadcast": lambda of, large, small, number: of.add(large[0].reshape(4, -1), large[1][:64], alpha=number),
    "add strided": lambda of, large, small, number: of.add(large[0][::2], large[1][1::2], alpha=number),
    "add a number": lambda of, large, small, number: of.add(large[0], float(large[1][0]), alpha=number),
    "sub a number": lambda of, large, small, number: of.sub(large[0], float(large[1][0]), alpha=number),
    "add_": lambda of, large, small, number: of.clone(large[0]).add_(large[1], alpha=number),
    "sub_": lambda of, large, small, number: of.clone(large[0]).sub_(large[1], alpha=number),
    "add_ to itself": lambda of, large, small, number: (x := of.clone(large[0])).add_(x, alpha=-2.0),
    "sub out": lambda of, large, small, number: of.sub(large[0], large[1], alpha=number, out=of.empty_like(large[0])),
    "addcmul": lambda of, large, small, number: of.addcmul(large[0], large[1], small),
    "addcmul of a number": lambda of, large, small, number: of.addcmul(large[0], small, large[1], value=number),
    "addcmul_": lambda of, large, small, number: of.clone(large[0]).addcmul_(large[1], small),
    "addcdiv": lambda of, large, small, number: of.addcdiv(large[0], large[1], small),
    "lerp": lambda of, large, small, number: of.lerp(large[0] / 2, large[1] / 2, number),
    "lerp of weights": lambda of, large, small, number: of.lerp(large[0] / 2, large[1] / 2, small),
    "addr": lambda of, large, small, number: of.addr(large[0].reshape(4, -1), small[:4], large[1][:64], alpha=number),
}


# What PyTorch computes one element at a time, with a product that is rounded to half.
ELEMENTWISE = {(dtype, name) for dtype in DTYPES[2:] for name in ("add strided", "addr")}


@pytest.mark.parametrize(
    ("dtype", "name"), [each for each in itertools.product(DTYPES, CALLS) if each not in ELEMENTWISE]
)
def test_sums_with_a_product(dtype: Any, name: str) -> None:
    """Infinities stand where PyTorch's do, the other numbers are its."""
    random = seeds.numpy_generator(name)
    largest = float(ml_dtypes.finfo(dtype).max)
    large = [(random.uniform(-1, 1, COUNT) * largest).astype(dtype) for _ in range(2)]
    small = random.uniform(-3, 3, COUNT).astype(dtype)
    for number in (2.0, *(random.integers(-24, 24, 3) / 8).tolist()):  # which every dtype holds
        ours = CALLS[name](opwright, [opwright.from_numpy(each) for each in large], opwright.from_numpy(small), number)
        theirs = CALLS[name](torch, [to_torch(each) for each in large], to_torch(small), number)
        given, wanted = np.asarray(ours, np.float64), theirs.double().numpy()
        error = 1e-12 if dtype == "float64" else 1e-6 if dtype == "float32" else 1e-2
        assert np.array_equal(np.isfinite(given), np.isfinite(wanted))
        np.testing.assert_allclose(given, wanted, rtol=error, atol=error * largest)
