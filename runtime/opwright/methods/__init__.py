"""What Tensor does over operators: importing this installs it."""

from opwright.methods import casting, exchange, functional, indexing, printing, subclassing, values

__all__ = ["casting", "exchange", "functional", "indexing", "printing", "subclassing", "values"]
