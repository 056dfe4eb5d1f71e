"""Dropout: of elements or whole channels, with zeros or with what a SELU saturates at."""

from __future__ import annotations

from typing import Any

import opwright
from opwright_core.arrays import dtypes, layouts
from opwright_core.state import active_modes

Operand = Any

# What SELU goes to on the left, and so what alpha dropout puts instead of an element.
_SATURATION = 1.7580993408473766


def dropout(input: Operand, p: float, train: bool) -> Operand:
    """Zero each element with probability `p`, and scale the others by 1 / (1 - p)."""
    return _dropped(input, p, train)


def dropout_(self: Operand, p: float, train: bool) -> Operand:
    """Apply `dropout` in place."""
    return _dropped(self, p, train, inplace=True)


def feature_dropout(input: Operand, p: float, train: bool) -> Operand:
    """Apply `dropout` to whole channels of (N, C, ...)."""
    return _dropped(input, p, train, features=True)


def feature_dropout_(self: Operand, p: float, train: bool) -> Operand:
    """Apply `feature_dropout` in place."""
    return _dropped(self, p, train, features=True, inplace=True)


def alpha_dropout(input: Operand, p: float, train: bool) -> Operand:
    """Apply dropout after SELU: elements become what it saturates at, and mean and variance stay."""
    return _dropped(input, p, train, alpha=True)


def alpha_dropout_(self: Operand, p: float, train: bool) -> Operand:
    """Apply `alpha_dropout` in place."""
    return _dropped(self, p, train, alpha=True, inplace=True)


def feature_alpha_dropout(input: Operand, p: float, train: bool) -> Operand:
    """Apply `alpha_dropout` to whole channels of (N, C, ...)."""
    return _dropped(input, p, train, features=True, alpha=True)


def feature_alpha_dropout_(self: Operand, p: float, train: bool) -> Operand:
    """Apply `feature_alpha_dropout` in place."""
    return _dropped(self, p, train, features=True, alpha=True, inplace=True)


def _dropped(
    input: Operand, p: float, train: bool, *, features: bool = False, alpha: bool = False, inplace: bool = False
) -> Operand:
    aten = opwright.ops.aten
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or layouts.is_empty(input.shape):
        return input
    times = aten.mul_ if inplace else aten.mul
    if p == 1:
        return times(input, aten.zeros_like(input))
    noise = _noise(input, p, features)
    if not alpha:
        return times(input, aten.div_(noise, 1 - p))
    scale = 1 / ((_SATURATION**2 * p + 1) * (1 - p)) ** 0.5
    shift = aten.add_(aten.mul_(aten.add(noise, -1), _SATURATION * scale), _SATURATION * scale * p)
    product = times(input, aten.mul_(noise, scale))
    return aten.add_(product, shift)


def _noise(input: Operand, p: float, features: bool) -> Operand:
    """Return 1 where elements stay, 0 where they go: real numbers, beside complex ones too."""
    aten = opwright.ops.aten
    options: dict[str, Any] = {"dtype": dtypes.to_real(input.dtype)} if input.dtype in dtypes.COMPLEX else {}
    if not features:
        return _drawn(aten.empty_like(input, **options), 1 - p)
    if len(input.shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    sizes = [*input.shape[:2], *[1] * (len(input.shape) - 2)]
    return _drawn(aten.new_empty(input, sizes, **options), 1 - p)


def _drawn(noise: Operand, keep: float) -> Operand:
    """Return 1 with a probability, else 0: written to `noise`, but within a transform, where samples that share one
    tensor may each need numbers of their own."""
    aten, modes = opwright.ops.aten, active_modes()
    is_transformed = modes is not None and modes.top is not None
    return aten.bernoulli(noise, keep) if is_transformed else aten.bernoulli_(noise, keep)
