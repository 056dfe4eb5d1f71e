"""ATen's type promotion: pairs of dtypes, and operands in three categories (dimensioned, 0-dim, Python numbers).

NumPy's rules differ: int64 with float32 is float32 here, and a 0-dim array only raises the category, never the width.
"""

from __future__ import annotations

from typing import Any

from opwright_core.arrays.dtypes import (
    COMPLEX,
    FLOATING,
    INEXACT,
    SCALAR_TYPE_NAME,
    DType,
    as_dtype,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    get_default_dtype,
    int16,
    int32,
    int64,
    to_complex,
    uint8,
    uint16,
    uint32,
    uint64,
)
from opwright_core.arrays.sizes import Symbolic, SymbolicBool, SymbolicInt, is_symbolic

# The types of numbers as operands.
NUMBERS = (int, float, bool, complex, Symbolic)
# The smallest signed integers that hold all of an unsigned dtype's.
_SIGNED_ABOVE = {uint8: int16, uint16: int32, uint32: int64}
_promoted: dict[tuple[DType, DType], DType] = {}


def promote(first: DType, second: DType) -> DType:
    """Return `promote_types` of dtypes that are already canonical."""
    known = _promoted.get((first, second))
    if known is None:
        known = _promoted[first, second] = _promote(first, second)
    return known


def _promote(first: DType, second: DType) -> DType:
    if first == second or second is bool_:
        return first
    if first is bool_:
        return second
    if first in COMPLEX or second in COMPLEX:
        wide = float64 in (first, second) or complex128 in (first, second)
        return complex128 if wide else complex64
    if first in FLOATING and second in FLOATING:
        if first.itemsize == second.itemsize:
            return float32  # float16 with bfloat16: neither holds the other
        return max(first, second, key=lambda dtype: dtype.itemsize)
    if first in FLOATING:
        return first
    if second in FLOATING:
        return second
    if first.kind == second.kind:
        return max(first, second, key=lambda dtype: dtype.itemsize)
    signed, unsigned = (first, second) if first.kind == "i" else (second, first)
    if signed.itemsize > unsigned.itemsize:
        return signed
    if unsigned is uint64:
        names = f"{SCALAR_TYPE_NAME[first]} and {SCALAR_TYPE_NAME[second]}"
        raise RuntimeError(f"no integer dtype holds what uint64 and signed integers do: attempted to promote {names}")
    return _SIGNED_ABOVE[unsigned]


def castable(source: DType, target: DType) -> bool:
    """Whether dtypes that are already canonical can be cast (`can_cast`)."""
    if source in COMPLEX:
        return target in COMPLEX
    if source in FLOATING:
        return target in INEXACT
    return target is not bool_ or source is bool_


def scalar_dtype(value: Any) -> DType:
    """Return the dtype of a number as an operand: int64 (uint64 from 2**63), the default dtype, its complex partner."""
    if is_symbolic(value):
        if isinstance(value, SymbolicBool):
            return bool_
        return int64 if isinstance(value, SymbolicInt) else get_default_dtype()
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64 if value < 2**63 else uint64
    if isinstance(value, float):
        return get_default_dtype()
    return to_complex(get_default_dtype())


def result_type(*operands: Any) -> DType:
    """Return the dtype that an operation on Tensors, arrays and Python numbers computes in.

    Dimensioned operands decide; 0-dim ones and then Python numbers only raise the category (bool, integral, floating,
    complex).
    """
    dimensioned = zero_dim = wrapped = None
    for operand in operands:
        if isinstance(operand, NUMBERS):
            wrapped = _both(wrapped, scalar_dtype(operand))
        elif len(operand.shape) == 0:
            zero_dim = _both(zero_dim, as_dtype(operand.dtype))
        else:
            dimensioned = _both(dimensioned, as_dtype(operand.dtype))
    found = combine_categories(dimensioned, combine_categories(zero_dim, wrapped))
    if found is None:
        raise TypeError("result_type() expects at least one operand")
    return found


def _both(first: DType | None, second: DType) -> DType:
    return second if first is None else promote(first, second)


def combine_categories(higher: DType | None, lower: DType | None) -> DType | None:
    """Return `higher`, or the dtype that holds both where `lower` is of a higher category."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher in COMPLEX:
        return higher
    if higher in FLOATING:
        return to_complex(higher) if lower in COMPLEX else higher
    if lower in COMPLEX:
        return lower
    return promote(higher, lower) if higher is bool_ or lower in FLOATING else higher
