"""Neural networks: `opwright.nn.functional`."""

from opwright.nn import functional

__all__ = ["functional"]
