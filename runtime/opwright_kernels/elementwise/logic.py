"""Logical operators where the array module knows them for real numbers alone, as CuPy does."""

from __future__ import annotations

from types import ModuleType
from typing import Any

Array = Any


def logical_and(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Whether both elements are true."""
    return xp.logical_and(_truth(xp, self), _truth(xp, other), out=out)


def logical_or(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Whether one element or both are true."""
    return xp.logical_or(_truth(xp, self), _truth(xp, other), out=out)


def logical_xor(xp: ModuleType, self: Array, other: Array, out: Array | None = None) -> Array:
    """Whether one element is true, not both."""
    return xp.logical_xor(_truth(xp, self), _truth(xp, other), out=out)


def logical_not(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Whether the element is false."""
    return xp.logical_not(_truth(xp, self), out=out)


def _truth(xp: ModuleType, operand: Array) -> Array:
    """Return a complex operand as what is true of it; others as they are."""
    return xp.not_equal(operand, 0) if operand.dtype.kind == "c" else operand
