"""Windows of signal processing. The rule of the operators has checked length and dtype."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import get_default_dtype
from opwright_kernels.special_functions.bessel import i0

Array = Any

_LONGEST, _MOST = 4096, 64  # of the windows that are kept
_KEPT: dict[tuple[Any, ...], Array] = {}


def hamming_window(
    xp: ModuleType,
    window_length: int,
    periodic: bool,
    alpha: float,
    beta: float,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
) -> Array:
    """Return alpha - beta cos(2 pi x)."""

    def window() -> Array:
        return alpha - beta * xp.cos(2 * pi * _places(xp, window_length, periodic))

    return _cast(xp, ("hamming", window_length, periodic, alpha, beta), window, dtype)


def bartlett_window(
    xp: ModuleType, window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Return a triangle from 0 to 1 and back."""

    def window() -> Array:
        return 1 - xp.abs(2 * _places(xp, window_length, periodic) - 1)

    return _cast(xp, ("bartlett", window_length, periodic), window, dtype)


def blackman_window(
    xp: ModuleType, window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Return 0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x)."""

    def window() -> Array:
        positions = 2 * pi * _places(xp, window_length, periodic)
        return 0.42 - 0.5 * xp.cos(positions) + 0.08 * xp.cos(2 * positions)

    return _cast(xp, ("blackman", window_length, periodic), window, dtype)


def kaiser_window(
    xp: ModuleType,
    window_length: int,
    periodic: bool,
    beta: float,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
) -> Array:
    """Return I0(beta sqrt(1 - (2x - 1)^2)) / I0(beta), with the modified Bessel function of the first kind."""

    def window() -> Array:
        off_centre = 2 * _places(xp, window_length, periodic) - 1
        return i0(xp, beta * xp.sqrt(xp.maximum(1 - off_centre**2, 0))) / i0(xp, xp.asarray([beta], "float64"))

    return _cast(xp, ("kaiser", window_length, periodic, beta), window, dtype)


def _places(xp: ModuleType, length: int, periodic: bool) -> Array:
    """Return where the samples lie between 0 and 1; a periodic window leaves out the last one, which is its first."""
    return xp.arange(length) / max(length if periodic else length - 1, 1)


def _cast(xp: ModuleType, key: tuple[Any, ...], window: Callable[[], Array], dtype: Any) -> Array:
    """Return a copy of the window that has the key's name, length and numbers: short ones are kept."""
    key = (xp, dtype or get_default_dtype(), *key)
    found = _KEPT.get(key)
    if found is None:
        length = key[3]
        found = (xp.ones(1) if length == 1 else window()).astype(key[1])
        if xp is not np or length > _LONGEST or len(_KEPT) >= _MOST:
            return found
        _KEPT[key] = found
    return found.copy()
