"""Airy's function.

Coefficients: polynomials and rational functions through the Chebyshev nodes of their interval, computed with 50 digits.
Everything is computed in float64.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.core import compiled
from opwright_kernels.special_functions.approximation import in_double, polynomial, put_where, ratio

Array = Any

_LEFT, _RIGHT, _END = -3.2, 2.0, 103.892  # beyond the end it is 0
_SQRT_PI = 1.7724538509055159
_ZETA_LEFT, _ZETA_RIGHT = 3.8162226815996414, 1.8856180831641267  # 2/3 |x|**1.5 at the borders
# Ai(x) from the left border to 0, of x + 1.6; and from 0 to the right border, of x - 1.
_BELOW = (
    0.42986297676913515,
    0.3785421919518809,
    -0.34389038141530814,
    -0.029300755058980398,
    0.07739723351803139,
    -0.014850458666026047,
    -0.0051045442895971405,
    0.002408523032817183,
    -0.00011934263931786569,
    -0.00012441918213124557,
    2.8883013905974196e-05,
    7.24799748265771e-07,
    -1.292666617009765e-06,
    1.7771450552900694e-07,
    1.5346425541566907e-08,
    -7.51017188151261e-09,
    6.382346681857372e-10,
    1.0087999268101547e-10,
    -2.791144954729481e-11,
    1.3122072084149186e-12,
    3.9204166846994314e-13,
    -5.796465421671219e-14,
)
_ABOVE = (
    0.13529241631288141,
    -0.1591474412967932,
    0.06764620815644175,
    -0.003975837497318648,
    -0.0076251027617237005,
    0.003183518532956513,
    -0.00038669800834960133,
    -0.00010575200545042807,
    4.994322218469485e-05,
    -6.839583506751924e-06,
    -6.20093336467862e-07,
    3.918512083426525e-07,
    -5.651995627144885e-08,
    -1.4630020646070443e-09,
    1.8497071024816365e-09,
    -2.761966243265702e-10,
    -2.303094637776903e-12,
    5.831444246814277e-12,
)
# Beyond the borders, with z = 2/3 |x|**1.5: Ai(x) exp(z) x**0.25, of the quotient of the z of the border and z.
_DECAY = (
    (
        0.28209479177387814,
        2.4211035962619762,
        7.7409853122895225,
        11.767628482649712,
        9.013032041680097,
        3.400723820471268,
        0.5730770244464565,
        0.034272205630565704,
        0.00038292383643924026,
    ),
    (
        1.0,
        8.619417263458262,
        27.748074680409093,
        42.652723657640756,
        33.2756914000394,
        12.958098148321005,
        2.3118724975618115,
        0.15495095303224748,
        0.0023322025981989763,
    ),
)
# Ai(-x) sqrt(π) x**0.25 is F sin(z + π/4) - G / z cos(z + π/4): F and G, of the square of that quotient.
_SINE = (
    (
        1.0,
        12.086000587312588,
        50.71521663573075,
        94.27742217767248,
        82.21238972871899,
        32.82108569950744,
        5.4158510701595155,
        0.2905712815310308,
        0.002581183742044243,
    ),
    (
        1.0,
        12.088550341561309,
        50.74576766273884,
        94.403620078934,
        82.4403754832277,
        33.00967673971218,
        5.483913661098103,
        0.29969586337208043,
        0.0028747665874334825,
    ),
)
_COSINE = (
    (
        0.06944444444444439,
        0.9248865608908372,
        4.305843572672879,
        8.951140577400281,
        8.808167307240403,
        4.006089818809342,
        0.7583688327676953,
        0.046180940729655104,
        0.00039239673675270126,
    ),
    (
        1.0,
        13.355932856092178,
        62.49799912362608,
        131.14306312280584,
        131.32224362087578,
        61.79634762077437,
        12.5643975971786,
        0.9092111613469238,
        0.014354453723497484,
    ),
)


@compiled
def airy_ai(xp: ModuleType, x: Array, out: Array | None = None) -> Array:
    """Return Airy's function Ai: a wave below 0, and a decay above; NaN at the infinities."""
    return in_double(xp, _airy, out, x)


def _airy(xp: ModuleType, x: Array) -> Array:
    result = xp.where(xp.isfinite(x), 0.0, xp.nan)
    put_where(xp, result, (x >= _LEFT) & (x < 0), lambda v: polynomial(_BELOW, v + 1.6), x)
    put_where(xp, result, (x >= 0) & (x <= _RIGHT), lambda v: polynomial(_ABOVE, v - 1), x)
    put_where(xp, result, (x > _RIGHT) & (x <= _END), lambda v: _decay(xp, v), x)
    put_where(xp, result, (x < _LEFT) & xp.isfinite(x), lambda v: _wave(xp, -v), x)
    return result


def _decay(xp: ModuleType, v: Array) -> Array:
    root = xp.sqrt(v)
    zeta = v * root * (2 / 3)
    return xp.exp(-zeta) * ratio(_DECAY, _ZETA_RIGHT / zeta) / xp.sqrt(root)


def _wave(xp: ModuleType, v: Array) -> Array:
    root = xp.sqrt(v)
    zeta = v * root * (2 / 3)
    square = (_ZETA_LEFT / zeta) ** 2
    sine, cosine = xp.sin(zeta), xp.cos(zeta)
    value = (sine + cosine) * ratio(_SINE, square) - (cosine - sine) * ratio(_COSINE, square) / zeta
    return value / (xp.sqrt(root) * (_SQRT_PI * 2**0.5))
