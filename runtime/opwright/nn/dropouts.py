"""Dropout: in training, elements or channels become 0 with probability `p`, and the rest is divided by 1 - p."""

from __future__ import annotations

import warnings

import opwright
from opwright.nn.annotations import A

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def dropout(input: A, p: float = 0.5, training: bool = True, inplace: bool = False) -> A:
    """Set each element to 0 with probability `p`, divide the rest by 1 - p. Raises ValueError unless 0 <= p <= 1."""
    _check_probability(p)
    return opwright.dropout_(input, p, training) if inplace else opwright.dropout(input, p, training)


def alpha_dropout(input: A, p: float = 0.5, training: bool = False, inplace: bool = False) -> A:
    """Set elements to the lower limit of `selu` with probability `p`, and keep mean and variance."""
    _check_probability(p)
    return opwright.alpha_dropout_(input, p, training) if inplace else opwright.alpha_dropout(input, p, training)


def feature_alpha_dropout(input: A, p: float = 0.5, training: bool = False, inplace: bool = False) -> A:
    """Apply `alpha_dropout` to whole channels."""
    _check_probability(p)
    if inplace:
        return opwright.feature_alpha_dropout_(input, p, training)
    return opwright.feature_alpha_dropout(input, p, training)


def dropout1d(input: A, p: float = 0.5, training: bool = True, inplace: bool = False) -> A:
    """Drop channels of (N, C, L) or (C, L). Raises RuntimeError for other dimensions."""
    _check_probability(p)
    if len(input.shape) not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {len(input.shape)}D input.")
    return _dropped_channels(input, p, training, inplace, len(input.shape) == 3)


def dropout2d(input: A, p: float = 0.5, training: bool = True, inplace: bool = False) -> A:
    """Drop channels of (N, C, H, W). Three dimensions mean (N, C, L), with a warning."""
    _check_probability(p)
    if len(input.shape) != 4:
        warnings.warn(
            f"dropout2d: Received a {len(input.shape)}-D input and took its second dimension for the channels; use "
            "dropout1d or dropout",
            stacklevel=2,
        )
    return _dropped_channels(input, p, training, inplace, True)


def dropout3d(input: A, p: float = 0.5, training: bool = True, inplace: bool = False) -> A:
    """Drop channels of (N, C, D, H, W) or (C, D, H, W)."""
    _check_probability(p)
    if len(input.shape) not in (4, 5):
        warnings.warn(f"dropout3d: Received a {len(input.shape)}-D input; use dropout", stacklevel=2)
    return _dropped_channels(input, p, training, inplace, len(input.shape) == 5)


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped_channels(input: A, p: float, training: bool, inplace: bool, is_batch: bool) -> A:
    batch = input if is_batch else opwright.unsqueeze(input, 0)
    if inplace:
        opwright.feature_dropout_(batch, p, training)
        return input
    result = opwright.feature_dropout(batch, p, training)
    return result if is_batch else opwright.squeeze(result, 0)
