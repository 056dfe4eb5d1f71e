"""Results that differ from PyTorch's, and are as exact: beside what PyTorch computes in float64.

float16 and bfloat16 have few digits, and PyTorch rounds to them on the way where ours is float32 until the end, or the
other way round; sums that cancel have the digits of their largest term. Two results of which each is right may then be
far apart, and which pairs are depends on the numbers that were drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from declared import functional_of, operators
from oracle import call, copied, numpy_of, to_torch, value_difference
from sampling import COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, Sample, bfloat16

import opwright

torch: Any = __import__("pytest").importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")

_WIDE = {FLOAT16: FLOAT64, bfloat16: FLOAT64, FLOAT32: FLOAT64, COMPLEX64: COMPLEX128}
_SHORT = (FLOAT16, bfloat16)
# Half of the last place, and what functions computed in float32 are off by before they are rounded.
_ROUNDED = 0.5 + 2**-7


def is_as_exact(name: str, one: Sample, mine: Any, other: Any, theirs: Callable[..., Any]) -> bool:
    """Whether what we computed is about as near as PyTorch's to what `theirs` computes in float64."""
    if not _WIDE.keys() & given_dtypes(one):
        return False
    opwright.manual_seed(7)
    torch.default_generator.manual_seed(7)
    exact = call(theirs, widened(one), to_torch)
    if any(isinstance(each, Exception) for each in (mine, other, exact)):
        return False
    found = (each if isinstance(each, list | tuple) else (each,) for each in (mine, other, exact))
    is_sum = cancels(name)
    return all(is_as_near(a.array, numpy_of(b), numpy_of(c), is_sum) for a, b, c in zip(*found, strict=True))


def cancels(name: str) -> bool:
    """Whether results are sums of larger terms, which are as exact as the largest of them."""
    declared = operators()
    operator = declared.get(functional_of(name)) if name in declared else None
    return "polynomial" in name or operator is None or "pointwise" not in operator.tags


def is_as_near(mine: np.ndarray, other: np.ndarray, exact: np.ndarray, is_sum: bool) -> bool:
    """Whether our array is about as near to what is exact as another, which is near; the same where that is not finite.

    Of short floats it does not matter how near the other is: ours are exact but for one rounding, of each number, or,
    in sums, of the largest.
    """
    dtype = mine.dtype
    if exact.dtype.kind not in "fc":
        return value_difference(mine, other) is None
    finite = np.isfinite(exact)
    if not np.array_equal(mine[~finite].astype(exact.dtype), exact[~finite], equal_nan=True):
        return False
    ours, theirs = (np.abs(each[finite].astype(exact.dtype) - exact[finite]) for each in (mine, other))
    sizes = np.abs(exact[finite])
    largest = sizes.max(initial=0)
    facts = ml_dtypes.finfo(dtype if dtype in _SHORT else FLOAT32)  # whose terms there are in wider results
    eps, least = float(facts.eps), float(facts.smallest_subnormal)
    if dtype in _SHORT:
        return bool((ours <= (eps * largest if is_sum else _ROUNDED * (eps * sizes + least))).all())
    far = theirs.max(initial=0)
    return bool(is_sum and far <= 1e-3 * largest and ours.max(initial=0) <= 4 * (far + eps * largest))


def given_dtypes(one: Sample) -> set[np.dtype]:
    """The dtypes of the arrays among the arguments, and those that are asked for."""
    given = [*one.args, *one.kwargs.values()]
    flat = [part for each in given for part in (each if isinstance(each, list) else [each])]
    return {getattr(each, "dtype", each) for each in flat if isinstance(each, np.ndarray | np.dtype)}


def widened(one: Sample) -> Sample:
    """A sample whose arrays, and dtypes asked for, are of float64 and complex128, on memory of its own."""

    def wide(value: Any) -> Any:
        if isinstance(value, list):
            return [wide(each) for each in value]
        if isinstance(value, np.dtype):
            return _WIDE.get(value, value)
        return copied(value.astype(_WIDE.get(value.dtype, value.dtype))) if isinstance(value, np.ndarray) else value

    return Sample(tuple(wide(arg) for arg in one.args), {name: wide(value) for name, value in one.kwargs.items()})
