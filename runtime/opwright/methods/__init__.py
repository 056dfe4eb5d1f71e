"""The methods of Tensor over operators: importing this installs them."""

from opwright.methods import (
    casting,
    exchange,
    facts,
    functional,
    indexing,
    older,
    printing,
    subclassing,
    typed,
    values,
)

__all__ = [
    "casting", "exchange", "facts", "functional", "indexing", "older", "printing", "subclassing", "typed", "values",
]  # fmt: skip
