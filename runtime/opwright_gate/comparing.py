"""The comparison of what two calls gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from opwright.testing import closeness

__all__ = ["close", "difference", "equal", "first_difference", "shown_error"]

Outputs = Sequence[tuple[str, np.ndarray[Any, Any]]]
_FACTOR: Final = 10.0  # sums are in another order


def equal(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays are one bit for bit, but for the kinds of NaN."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if found.tobytes() == wanted.tobytes():
        return True
    if found.dtype.kind in "biu":
        return False
    with np.errstate(all="ignore"):
        is_nan = np.isnan(found) & np.isnan(wanted)
        return np.where(is_nan, 0, found).tobytes() == np.where(is_nan, 0, wanted).tobytes()


def close(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], factor: float = _FACTOR) -> bool:
    """Whether two arrays are one within what their dtype and another order of sums make of it: relative to each
    element, with a floor of that of the largest finite one."""
    if found.shape != wanted.shape:
        return False
    if found.dtype.kind in "biu" and wanted.dtype.kind in "biu":
        return bool(np.array_equal(found, wanted))
    rtol, _ = closeness.TOLERANCES.get(found.dtype, (1e-7, 1e-7))
    wide = np.complex128 if "c" in (found.dtype.kind, wanted.dtype.kind) else np.float64
    with np.errstate(all="ignore"):
        one, other = found.astype(wide), wanted.astype(wide)
        is_finite = np.isfinite(other)
        largest = float(np.abs(other[is_finite]).max(initial=0.0)) if other.size else 0.0
        floor = rtol * min(largest, 1.0)
        near = np.abs(one - other) <= factor * (rtol * np.abs(other) + floor)
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        return bool(np.all(same | (near & is_finite & np.isfinite(one))))


def difference(found: Outputs, wanted: Outputs, *, exact: bool = False, with_dtypes: bool = True) -> str | None:
    """Return how the outputs of two calls differ, None if in nothing."""
    if len(found) != len(wanted):
        return f"it gives {len(found)} arrays, not {len(wanted)}"
    for (name, one), (_, other) in zip(found, wanted, strict=True):
        if one.shape != other.shape:
            return f"{name} has shape {one.shape}, not {other.shape}"
        if with_dtypes and one.dtype != other.dtype:
            return f"{name} is {one.dtype}, not {other.dtype}"
        if not (equal(one, other) if exact else close(one, other)):
            return f"{name} differs{_where(one, other)}"
    return None


def first_difference(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> list[int]:
    """Return the position of the first element that is another, of the first one where only bits are."""
    with np.errstate(all="ignore"):
        wrong = ~((one == other) | ((one != one) & (other != other)))
    return [int(each[0]) for each in np.nonzero(wrong)] if one.ndim and wrong.any() else [0] * one.ndim


def _where(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> str:
    index = first_difference(one, other)
    return f" at {index}: {one[tuple(index)]}, not {other[tuple(index)]}" if one.size else ""


def shown_error(error: Exception) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]:.160}"
