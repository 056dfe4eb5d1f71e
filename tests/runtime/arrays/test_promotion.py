"""Promotion equals PyTorch's: every pair of dtypes, every mix of dimensioned, 0-dim and Python operands."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from opwright.metadata import dtype_limits
from opwright_core.arrays import dtypes, promotion

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

NAMES = [dtypes.dtype_name(dtype) for dtype in dtypes.CANONICAL]
SCALARS = [True, 3, 2.5, 2j]


def answer(function: Any, *arguments: Any) -> str:
    """The dtype's name, or the error's class and first line: what the two sides must agree on."""
    try:
        result = function(*arguments)
    except (RuntimeError, TypeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return str(result).removeprefix("torch.")


def numpys_answer(*names: str) -> str:
    """What the Array API standard says where PyTorch refuses: NumPy's dtype, but an error where that is no integer;
    with complex numbers their dtype."""
    ours = [dtypes.as_dtype(name) for name in names]
    if complexes := [each for each in ours if each in dtypes.COMPLEX]:
        return dtypes.dtype_name(complexes[0])
    wide = np.promote_types(*ours)
    if wide.kind == "f":
        shown = " and ".join(dtypes.SCALAR_TYPE_NAME[each] for each in ours)
        return f"RuntimeError: no integer dtype holds what uint64 and signed integers do: attempted to promote {shown}"
    return dtypes.dtype_name(wide)


@pytest.mark.parametrize("first", NAMES)
def test_promote_types_and_can_cast(first: str) -> None:
    for second in NAMES:
        ours, theirs = (first, second), (getattr(torch, first), getattr(torch, second))
        expected = answer(torch.promote_types, *theirs)
        if "uint16, uint32, uint64 types is not supported" in expected:
            expected = numpys_answer(first, second)
        assert answer(dtype_limits.promote_types, *ours) == expected, ours
        assert answer(dtype_limits.can_cast, *ours) == answer(torch.can_cast, *theirs), ours


# NumPy has none: parts of 16 bits widen to complex64. (PyTorch has the second one since 2.15.)
SHORT_COMPLEX = ("complex32", "bcomplex32")


def operands(name: str) -> list[tuple[Any, Any]]:
    dtype = dtypes.as_dtype(name)
    return [(np.zeros(shape, dtype), torch.zeros(shape, dtype=getattr(torch, name))) for shape in ((2,), ())]


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_result_type_of_pairs(default: str) -> None:
    everything = [pair for name in NAMES for pair in operands(name)] + [(value, value) for value in SCALARS]
    dtypes.set_default_dtype(default)
    torch.set_default_dtype(getattr(torch, default))
    try:
        for (a, x), (b, y) in itertools.product(everything, repeat=2):
            expected = answer(torch.result_type, x, y)
            if "uint16, uint32, uint64 types is not supported" in expected:
                refused = [dtypes.dtype_name(each.dtype) if isinstance(each, np.ndarray) else each for each in (a, b)]
                expected = numpys_answer(*refused)
            expected = "complex64" if expected in SHORT_COMPLEX else expected
            assert answer(promotion.result_type, a, b) == expected, (a, b)
    finally:
        dtypes.set_default_dtype("float32")
        torch.set_default_dtype(torch.float32)


@pytest.mark.filterwarnings("ignore:(ComplexHalf|BComplex32) support is experimental")
def test_result_type_of_three_categories() -> None:
    names = [name for name in NAMES if name not in ("uint16", "uint32", "uint64")]
    for first, second, value in itertools.product(names, names, SCALARS):
        (a, x), (b, y) = operands(first)[0], operands(second)[1]
        expected = _chain(x, y, value)
        assert promotion.result_type(a, b, value) == dtypes.as_dtype(expected), (first, second, value)


def _chain(x: Any, y: Any, value: Any) -> str:
    """PyTorch's answer for three operands: a 0-dim one stands for the last two together."""
    name = str(torch.result_type(x, torch.zeros((), dtype=torch.result_type(y, value)))).removeprefix("torch.")
    return "complex64" if name in SHORT_COMPLEX else name
