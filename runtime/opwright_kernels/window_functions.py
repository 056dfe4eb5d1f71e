"""Windows of signal processing. The rule of the operators has checked length and dtype."""

from __future__ import annotations

from math import pi
from types import ModuleType
from typing import Any

from opwright_core.arrays.dtypes import get_default_dtype
from opwright_kernels.special_functions.bessel import i0

Array = Any


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
    return _cast(xp, window_length, alpha - beta * xp.cos(2 * pi * _places(xp, window_length, periodic)), dtype)


def bartlett_window(
    xp: ModuleType, window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Return a triangle from 0 to 1 and back."""
    return _cast(xp, window_length, 1 - xp.abs(2 * _places(xp, window_length, periodic) - 1), dtype)


def blackman_window(
    xp: ModuleType, window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Array:
    """Return 0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x)."""
    positions = 2 * pi * _places(xp, window_length, periodic)
    return _cast(xp, window_length, 0.42 - 0.5 * xp.cos(positions) + 0.08 * xp.cos(2 * positions), dtype)


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
    off_centre = 2 * _places(xp, window_length, periodic) - 1
    window = i0(xp, beta * xp.sqrt(xp.maximum(1 - off_centre**2, 0))) / i0(xp, xp.asarray([beta], "float64"))
    return _cast(xp, window_length, window, dtype)


def _places(xp: ModuleType, length: int, periodic: bool) -> Array:
    """Return where the samples lie between 0 and 1; a periodic window leaves out the last one, which is its first."""
    return xp.arange(length) / max(length if periodic else length - 1, 1)


def _cast(xp: ModuleType, length: int, window: Array, dtype: Any) -> Array:
    return (xp.ones(1) if length == 1 else window).astype(dtype or get_default_dtype())
