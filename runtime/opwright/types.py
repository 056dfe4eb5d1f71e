"""`opwright.types`: names for annotations, as in `torch.types`."""

from typing import TypeAlias

__all__ = ["Number"]

Number: TypeAlias = int | float | bool  # `Scalar` in a schema
