"""Half and bfloat16 with numbers, and with what broadcasts by rows: computed in float32 and rounded, in either mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import seeds

import opwright

Array = Any
ROUNDED: dict[str, Callable[[Array, Any], Array]] = {  # numbers are rounded to the dtype first
    "add": np.add, "sub": np.subtract, "rsub": lambda x, y: y - x, "clamp_min": np.maximum, "eq": np.equal,
    "lt": np.less,
}  # fmt: skip
EXACT: dict[str, Callable[[Array, Any], Array]] = {"mul": np.multiply, "div": np.divide}
SHAPES = ((5, 70), (70,), (5, 1), (1,), (3, 5, 70), (3, 1, 1), (3, 5, 1), (3, 1, 70), (2, 3000), (3000,))


def numbers(rng: np.random.Generator) -> list[float]:
    """Return numbers of any size, and some beside the middle between two neighbours of half."""
    half = np.float16(rng.standard_normal())
    middle = (float(half) + float(np.nextafter(half, np.float16(9)))) / 2
    near = [middle * (1 + each) for each in (0, 1e-9, -1e-9, 1e-16, -1e-16)]
    return [*near, 0.1, 3, 70000, -70000.5, 2**40, int(rng.integers(-3000, 3000)), 1e-9, np.inf]


@pytest.mark.parametrize("dtype", [opwright.float16, opwright.bfloat16])
def test_numbers_are_rounded_once(dtype: Any) -> None:
    rng = seeds.numpy_generator(0)
    elements = (rng.standard_normal(37) * 10.0 ** rng.integers(-6, 5, 37)).astype(dtype)
    wide = elements.astype(np.float32)
    for number in numbers(rng):
        with np.errstate(over="ignore"):
            elements[0] = wide[0] = np.asarray(number).astype(dtype)
        x = opwright.from_numpy(elements.copy())
        for name, function in (ROUNDED | EXACT).items():
            with np.errstate(all="ignore"):
                other = np.float32(np.asarray(number).astype(dtype) if name in ROUNDED else number)
                expected = function(wide, other)
                expected = expected if expected.dtype == bool else expected.astype(dtype)
            found = getattr(opwright, name)(x, number).numpy()
            assert found.tobytes() == expected.tobytes(), (name, number)


@pytest.mark.parametrize("dtype", [opwright.float16, opwright.bfloat16])
def test_rows_broadcast(dtype: Any) -> None:
    rng = seeds.numpy_generator(1)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in SHAPES]
    for function in (np.add, np.multiply, np.arctan2, np.less):
        for first in arrays:
            for second in arrays:
                try:
                    expected = function(first.astype(np.float32), second.astype(np.float32))
                except ValueError:
                    continue  # shapes that do not broadcast
                found = getattr(opwright, function.__name__)(opwright.from_numpy(first), opwright.from_numpy(second))
                assert found.is_contiguous()
                if function is np.arctan2 and np.lib.NumpyVersion(np.__version__) < "2.1.0":  # its own loop of halves
                    np.testing.assert_allclose(found.numpy(), expected.astype(found.dtype), rtol=2e-3)
                else:
                    np.testing.assert_array_equal(found.numpy(), expected.astype(found.dtype))
