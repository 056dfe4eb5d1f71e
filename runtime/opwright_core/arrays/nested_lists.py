"""Arrays of nested lists whose elements may run code while NumPy reads them.

NumPy reads a list in place. An element that takes items out of the list meanwhile (in `__array__` or `__len__`) leaves
NumPy with freed memory, so that NumPy gets a copy of the lists here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

__all__ = ["array_of"]

_DEEPEST: Final = 64  # of NumPy's arrays
_PLAIN: Final = frozenset((bool, int, float, complex, np.float64, np.int64, np.bool_))


def array_of(value: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Return `numpy.asarray(value, dtype)`, of a copy of the lists in `value`. Raises as NumPy."""
    return np.asarray(_copied(value, 0), dtype)


def _copied(value: Any, depth: int) -> Any:
    if depth == _DEEPEST or isinstance(value, (str, bytes, bytearray, memoryview)) or not isinstance(value, Sequence):
        return value
    items = list(value)
    return items if _PLAIN.issuperset(map(type, items)) else [_copied(each, depth + 1) for each in items]
