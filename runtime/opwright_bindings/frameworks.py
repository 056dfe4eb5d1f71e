"""The error of a framework that is not installed."""

from __future__ import annotations

__all__ = ["FrameworkMissing"]


class FrameworkMissing(ImportError):
    """An error: a framework that operators are given to is not installed."""

    def __init__(self, framework: str, distribution: str) -> None:
        super().__init__(
            f"{framework} is not installed, and this module gives it operators: pip install {distribution}"
        )
