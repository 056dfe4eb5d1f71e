"""The questions that are asked of operators: `PROPERTIES`, in their order."""

from typing import Final

from opwright.gate.properties.property import Property

__all__ = ["PROPERTIES", "Property"]

PROPERTIES: Final[tuple[Property, ...]] = ()
