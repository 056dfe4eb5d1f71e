"""Special functions: accuracy against values known to many digits, and the names of `opwright.special`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import seeds

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
    ("bessel_j0", 2.4, 0.002507683297243859),
    ("bessel_j0", 5.625, 0.03530131981075585),
    ("bessel_j0", -7.25, 0.291996924191779),
    ("bessel_j1", 3.83, 0.000687248220597037),
    ("bessel_j1", -123.5, 0.013948992295178035),
    ("bessel_y0", 0.125, -1.3896806251438405),
    ("bessel_y0", 37.75, -0.08735118649037113),
    ("bessel_y1", 4.5, 0.3009973230696546),
    ("bessel_y1", 11.0, 0.16370553741494284),
    ("modified_bessel_k0", 1.75, 0.1553798123866036),
    ("modified_bessel_k0", 25.0, 3.4641615622131143e-12),
    ("modified_bessel_k1", 0.01, 99.97389411829624),
    ("scaled_modified_bessel_k0", 400.0, 0.06264615129957811),
    ("scaled_modified_bessel_k1", 1.5, 1.243165873552553),
    ("spherical_bessel_j0", -7.5, 0.12506666356996518),
    ("airy_ai", -12.25, -0.2676446988271423),
    ("airy_ai", -2.5, -0.11232506769296609),
    ("airy_ai", 1.25, 0.09964454475691667),
    ("airy_ai", 2.5, 0.01572592338047049),
    ("airy_ai", 8.0, 4.6922076160992316e-08),
    ("gammainc", (0.25, 0.75), 0.8999365132844982),
    ("gammainc", (75.0, 70.0), 0.2904799265224419),
    ("gammainc", (12.5, 3.0), 3.426768617027624e-05),
    ("gammaincc", (0.0625, 0.25), 0.06535844755277265),
    ("gammaincc", (7.5, 30.0), 2.5220850786961436e-07),
    ("gammaincc", (900.0, 930.0), 0.15861148105943113),
    ("chebyshev_polynomial_t", (0.75, 40.0), -0.8050503236295299),
    ("chebyshev_polynomial_t", (-1.5, 40.0), 2.6180698198910064e16),
    ("chebyshev_polynomial_u", (-0.25, 21.0), 0.6842799186706543),
    ("chebyshev_polynomial_v", (-0.75, 17.0), -0.23020172119140625),
    ("chebyshev_polynomial_w", (1.25, 30.0), 2147483648.0),
    ("shifted_chebyshev_polynomial_u", (0.3125, 12.0), 0.30305105447769165),
    ("hermite_polynomial_h", (0.75, 12.0), -733623.8356933594),
    ("hermite_polynomial_he", (1.5, 9.0), -541.212890625),
    ("laguerre_polynomial_l", (2.5, 15.0), 0.4340082834333159),
    ("legendre_polynomial_p", (0.625, 31.0), -0.10624679548249287),
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


def test_polynomials_of_any_degree() -> None:
    """Chebyshev polynomials of high degrees take no steps; those of other kinds take as many as the degree says."""
    x, n = np.array([0.5, -0.5, 1.0, -1.0, 1.0000000001, 1e30]), 1_000_003.0
    angle = np.pi * (n % 6) / 3
    expected = [np.cos(angle), -np.cos(angle), 1, -1, np.cosh(n * np.arccosh(x[4])), np.inf]
    assert np.allclose(opwright.special.chebyshev_polynomial_t(x, np.array(n)), expected, rtol=1e-6)
    assert np.isfinite(opwright.special.legendre_polynomial_p(x[:4], np.array(2000.0))).all()
    assert np.isnan(opwright.special.hermite_polynomial_h(x, np.array(513.0))).all()
    assert opwright.special.laguerre_polynomial_l(x, np.array(-1.0)).tolist() == [0.0] * 6


def test_the_incomplete_gamma_functions_sum_to_one() -> None:
    """Where one way of computing them ends and another begins, too."""
    rng = seeds.numpy_generator(3)
    a = np.exp(rng.uniform(-7, 12, 4000))
    x = a * np.exp(rng.normal(size=4000) / np.sqrt(1 + a))
    lower, upper = opwright.special.gammainc(a, x), opwright.special.gammaincc(a, x)
    assert np.abs(lower + upper - 1).max() < 1e-15
    ahead = opwright.special.gammainc(a, x * (1 + 1e-9))
    assert (ahead >= lower * (1 - 1e-14)).all()
    assert ((lower >= 0) & (lower <= 1) & (upper >= 0)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lgamma_at_poles_and_its_digits(dtype: type) -> None:
    """Every float far below 0 is a pole. Results of float32 are rounded once, but near the zeros below 0."""
    poles = np.array([0.0, -0.0, -1.0, -2.0, -33.0, np.finfo(dtype).min, -np.inf, np.inf], dtype)
    assert np.isposinf(opwright.lgamma(poles)).all()
    x = np.concatenate([np.linspace(0.01, 20, 5000), np.geomspace(20, 1e30, 500)]).astype(np.float32)
    wide = opwright.lgamma(x.astype(np.float64))
    assert (np.abs(opwright.lgamma(x) - wide) <= 0.7 * np.spacing(np.abs(wide).astype(np.float32))).all()
