"""Special functions: accuracy against values known to many digits, and the names of `opwright.special`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opwright

# Computed with 40 digits.
VALUES = [
    ("erfc", 9.5, 3.7692144856548797e-41),
    ("erfc", -0.5, 1.5204998778130465),
    ("erfcx", 30.0, 0.01879588886141675),
    ("erfinv", 0.999999, 3.458910737275499),
    ("ndtri", 1e-10, -6.361340902404057),
    ("log_ndtr", -30.0, -454.3212439563432),
    ("gammaln", 1.0001, -5.771334222047127e-05),
    ("gammaln", 2.0001, 4.2281658112919945e-05),
    ("gammaln", 1e6, 12815504.569147611),
    ("digamma", 1.4616, -3.110625123034165e-05),
    ("zeta", (1.5, 0.25), 10.213055360466601),
    ("i0e", 14.99, 0.10393480297809074),
    ("i1", 15.01, 331318.1357660451),
]


@pytest.mark.parametrize("name, argument, value", VALUES)
def test_values(name: str, argument: Any, value: float) -> None:
    arguments = argument if isinstance(argument, tuple) else (argument,)
    function = getattr(opwright.special, name)
    assert float(function(*[np.array(each) for each in arguments])) == pytest.approx(value, rel=2e-14, abs=0)
    narrow = float(function(*[np.array(each, np.float32) for each in arguments]))
    if abs(value) > 1e-37:
        wide = float(function(*[np.array(np.float32(each), np.float64) for each in arguments]))
        assert narrow == pytest.approx(wide, rel=5e-6)


@pytest.mark.parametrize("name", opwright.special.__all__)
def test_names(name: str) -> None:
    assert getattr(opwright.special, name) is getattr(opwright, f"special_{name}")


@pytest.mark.parametrize("name", ["erf", "erfc", "erfinv", "gammaln", "digamma", "i0", "i1e"])
def test_a_long_array_is_its_parts(name: str) -> None:
    """Arrays are gone through in blocks, whatever their layout, and into `out`."""
    function = getattr(opwright.special, name)
    array = np.linspace(0.01, 0.99, 120 * 150).reshape(120, 150)
    whole = function(array)
    assert np.array_equal(whole, np.stack([function(row) for row in array]))
    assert np.array_equal(function(array.T), whole.T)
    out = np.empty_like(array)
    assert function(array, out=out) is out
    assert np.array_equal(out, whole)
