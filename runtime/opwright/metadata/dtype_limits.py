"""Kinds, limits and promotion of dtypes, under PyTorch's names."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from opwright_core.arrays.dtypes import (
    COMPLEX,
    FLOATING,
    INTEGRAL,
    DType,
    as_dtype,
    get_default_dtype,
    to_real,
)
from opwright_core.arrays.promotion import castable, promote

__all__ = ["can_cast", "finfo", "iinfo", "is_complex", "is_floating_point", "promote_types"]


def is_floating_point(value: Any) -> bool:
    """Whether a tensor, an array or a dtype is of float16, bfloat16, float32 or float64. Raises TypeError."""
    return _dtype_of(value) in FLOATING


def is_complex(value: Any) -> bool:
    """Whether a tensor, an array or a dtype is of complex64 or complex128. Raises TypeError."""
    return _dtype_of(value) in COMPLEX


def _dtype_of(value: Any) -> DType:
    return as_dtype(value.dtype if hasattr(value, "shape") and not isinstance(value, np.dtype | type) else value)


def finfo(dtype: object = None) -> Any:
    """Return the limits of a floating-point dtype (of the parts of a complex one; the default dtype if none is given):
    `eps`, `max`, `min`, `tiny`, `bits`. Raises TypeError for any other dtype."""
    found = to_real(get_default_dtype() if dtype is None else as_dtype(dtype))
    if found not in FLOATING:
        raise TypeError(f"finfo() is for floating-point dtypes, got {found}: use iinfo() for integers")
    return ml_dtypes.finfo(found)  # type: ignore[no-untyped-call]


def iinfo(dtype: object) -> Any:
    """Return the limits of an integer dtype: `max`, `min`, `bits`. Raises TypeError for any other dtype."""
    found = as_dtype(dtype)
    if found not in INTEGRAL:
        raise TypeError(f"iinfo() is for integer dtypes, got {found}: use finfo() for floating-point ones")
    return np.iinfo(found)


def promote_types(first: object, second: object) -> DType:
    """Return the smallest dtype that both promote to.

    PyTorch refuses uint16, uint32 and uint64 with most others; NumPy and the Array API standard do not. Raises
    RuntimeError for uint64 with a signed integer, which no integer dtype holds.
    """
    return promote(as_dtype(first), as_dtype(second))


def can_cast(source: object, target: object) -> bool:
    """Whether `source` may be stored as `target`: not complex as real, floating as integer, numbers as bool."""
    return castable(as_dtype(source), as_dtype(target))
