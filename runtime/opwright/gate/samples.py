"""Drawn calls of one operator, shared by all properties."""

from __future__ import annotations

__all__ = ["Samples"]


class Samples:
    """The drawn calls of one operator."""
