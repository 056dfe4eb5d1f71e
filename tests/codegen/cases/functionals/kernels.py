"""Kernels of the case: they write to their arguments."""

from __future__ import annotations

from typing import Any


def scale_fake(self: Any, by: Any) -> None:
    """Nothing is written: there is no data."""


def normalize(x: Any, mean: Any, scale: Any, momentum: float) -> Any:
    """Update the mean, and return what is above it."""
    mean += momentum * (x.mean() - mean)
    return x - mean


def push(stack: Any, x: Any) -> None:
    """Add to the stack."""
    stack += x


def add_each_(self: list[Any], others: list[Any]) -> None:
    """Add pair by pair."""
    for item, other in zip(self, others, strict=True):
        item += other


def shift(x: Any, log: Any, parts: list[Any], by: int | None) -> None:
    """Add to each of what it is given."""
    for item in (x, *parts, *([] if log is None else [log])):
        item += by or 0
