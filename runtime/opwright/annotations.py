"""Names for what generated signatures take."""

from typing import TypeAlias

__all__ = ["Scalar"]

Scalar: TypeAlias = int | float | complex
