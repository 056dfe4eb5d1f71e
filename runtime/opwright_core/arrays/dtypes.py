"""The dtypes of tensors: NumPy's own objects, and bfloat16 of ml_dtypes; the default one; what kernels compute in.

`complex32`, the float8 family and the quantized types have no NumPy dtype that computes, and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import Context
from functools import cache
from typing import Any, Final

import ml_dtypes
import numpy as np

from opwright_core.arrays.sizes import shown

DType = np.dtype[Any]

bool_: Final[DType] = np.dtype(np.bool_)
uint8: Final[DType] = np.dtype(np.uint8)
uint16: Final[DType] = np.dtype(np.uint16)
uint32: Final[DType] = np.dtype(np.uint32)
uint64: Final[DType] = np.dtype(np.uint64)
int8: Final[DType] = np.dtype(np.int8)
int16: Final[DType] = np.dtype(np.int16)
int32: Final[DType] = np.dtype(np.int32)
int64: Final[DType] = np.dtype(np.int64)
float16: Final[DType] = np.dtype(np.float16)
bfloat16: Final[DType] = np.dtype(ml_dtypes.bfloat16)
float32: Final[DType] = np.dtype(np.float32)
float64: Final[DType] = np.dtype(np.float64)
complex64: Final[DType] = np.dtype(np.complex64)
complex128: Final[DType] = np.dtype(np.complex128)

# What `opwright.NAME` offers, under PyTorch's names and their short forms.
PUBLIC: Final[dict[str, DType]] = {
    "bool": bool_,
    "uint8": uint8,
    "uint16": uint16,
    "uint32": uint32,
    "uint64": uint64,
    "int8": int8,
    "int16": int16,
    "short": int16,
    "int32": int32,
    "int": int32,
    "int64": int64,
    "long": int64,
    "float16": float16,
    "half": float16,
    "bfloat16": bfloat16,
    "float32": float32,
    "float": float32,
    "float64": float64,
    "double": float64,
    "complex64": complex64,
    "cfloat": complex64,
    "complex128": complex128,
    "cdouble": complex128,
}

# A dtype that compares equal (an unpickled one, `longlong` beside `int64`) finds the one object we use for it.
CANONICAL: Final[dict[DType, DType]] = {dtype: dtype for dtype in PUBLIC.values()}
FLOATING: Final = frozenset((float16, bfloat16, float32, float64))
COMPLEX: Final = frozenset((complex64, complex128))
INEXACT: Final = FLOATING | COMPLEX  # what can have a gradient
INTEGRAL: Final = frozenset((uint8, uint16, uint32, uint64, int8, int16, int32, int64))
REDUCED: Final = frozenset((float16, bfloat16))

# PyTorch's names for dtypes in its messages.
SCALAR_TYPE_NAME: Final[dict[DType, str]] = {
    bool_: "Bool",
    uint8: "Byte",
    uint16: "UInt16",
    uint32: "UInt32",
    uint64: "UInt64",
    int8: "Char",
    int16: "Short",
    int32: "Int",
    int64: "Long",
    float16: "Half",
    bfloat16: "BFloat16",
    float32: "Float",
    float64: "Double",
    complex64: "ComplexFloat",
    complex128: "ComplexDouble",
}

_WIDE: Final = frozenset((float32, float64))
_EXACT: Final = 2**53  # ints up to here are exact as Python floats
_OPMATH: Final = {float16: float32, bfloat16: float32}
_TO_REAL: Final = {complex64: float32, complex128: float64}
_TO_COMPLEX: Final = {float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128}
_default = float32
_memos: list[dict[Any, Any]] = []


def as_dtype(spelling: object) -> DType:
    """Return the dtype of a NumPy dtype, scalar type, name (`"float32"`, `"long"`, `"torch.float32"`) or Python type.

    The Python types follow PyTorch: `bool`, `int` (int64), `float` (the default dtype), `complex` (its complex
    partner). Raises TypeError for anything else, and for dtypes that no Tensor can have.
    """
    if isinstance(spelling, np.dtype):
        found = CANONICAL.get(spelling)
        if found is None:
            raise TypeError(f"a Tensor cannot have dtype {spelling}: {_why_not(spelling)}")
        return found
    if spelling is float:
        return _default
    if spelling is int:
        return int64
    if spelling is bool:
        return bool_
    if spelling is complex:
        return to_complex(_default)
    if isinstance(spelling, type) and issubclass(spelling, np.generic):
        return as_dtype(np.dtype(spelling))
    name = spelling if isinstance(spelling, str) else str(spelling)
    named = PUBLIC.get(name.removeprefix("torch.").removeprefix("opwright."))
    if named is not None:
        return named
    if isinstance(spelling, str):
        try:
            return as_dtype(np.dtype(spelling))
        except TypeError:
            pass
    raise TypeError(f"{spelling!r} is not a dtype: expected a NumPy dtype or one of the names {', '.join(PUBLIC)}")


def _why_not(dtype: DType) -> str:
    if dtype.byteorder not in "=|" and CANONICAL.get(dtype.newbyteorder("=")) is not None:
        return "its byte order is not this machine's; convert it with array.astype(array.dtype.newbyteorder('='))"
    return f"the supported dtypes are {', '.join(str(known) for known in CANONICAL)}"


def plain_dtypes(kinds: str) -> frozenset[DType]:
    """Return the dtypes that kernels compute in themselves (none of 16 bits), of NumPy's kinds: `"fc"`."""
    return frozenset(dtype for dtype in CANONICAL if dtype.kind in kinds and dtype not in REDUCED)


def get_default_dtype() -> DType:
    """Return the dtype of Python floats and of factories that are given none: float32 until it is set."""
    return _default


def depends_on_default(memo: dict[Any, Any]) -> dict[Any, Any]:
    """Have a memo emptied whenever the default dtype changes."""
    _memos.append(memo)
    return memo


def set_default_dtype(dtype: object) -> None:
    """Make a floating-point dtype the default one. Raises TypeError for any other dtype, as PyTorch does."""
    global _default
    chosen = as_dtype(dtype)
    if chosen not in FLOATING:
        raise TypeError(f"only floating-point types are supported as the default type, but got {chosen}")
    _default = chosen
    for memo in _memos:
        memo.clear()


def opmath(dtype: DType) -> DType:
    """Return the dtype kernels compute in: float32 for float16 and bfloat16, else the dtype itself."""
    return _OPMATH.get(dtype, dtype)


def to_real(dtype: DType) -> DType:
    """Return the dtype of the parts of a complex dtype; any other dtype is its own."""
    return _TO_REAL.get(dtype, dtype)


def to_complex(dtype: DType) -> DType:
    """Return the complex dtype whose parts have this floating-point dtype; the default dtype's partner for integers."""
    return dtype if dtype in COMPLEX else _TO_COMPLEX[to_float(dtype)]


def to_float(dtype: DType) -> DType:
    """Return the dtype of a floating-point result: the default dtype for bool and integers, else the dtype itself."""
    return dtype if dtype in INEXACT else _default


def dtype_name(dtype: DType) -> str:
    """Return the name that `repr` shows: `float32`, `bfloat16`, `bool`."""
    return str(dtype)


def wrapped_scalar(value: complex, dtype: DType) -> Any:
    """Return a Python number as a scalar of `dtype`, like an operand: integers wrap, floats overflow to infinity.

    Raises OverflowError for an int beyond 64 bits, or of an inexact dtype for one beyond float64.
    """
    if dtype in _WIDE and (
        -3e38 < value < 3e38 if type(value) is float else type(value) is int and -_EXACT <= value <= _EXACT
    ):
        return dtype.type(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        if dtype not in INEXACT or abs(value) > _largest(float64):
            raise OverflowError(f"int too big to convert: {shown(value)} does not fit 64 bits")
        value = float(value)
    if dtype in INTEGRAL and isinstance(value, int):
        bits = dtype.itemsize * 8
        value = int(value) & ((1 << bits) - 1)
        if dtype.kind == "i" and value >> (bits - 1):
            value -= 1 << bits
        return dtype.type(value)
    if isinstance(value, complex) and dtype not in COMPLEX and dtype is not bool_:
        value = value.real
    return quiet(np.asarray(value).astype, dtype)[()]


def quiet(function: Callable[..., Any], *args: Any) -> Any:
    """Return what a function of NumPy returns, without warnings of numbers: in a third of what `np.errstate` takes."""
    return _QUIET.copy().run(function, *args)


_QUIET: Final = Context()
_QUIET.run(np.seterr, all="ignore")


def checked_scalar(value: complex, dtype: DType) -> Any:
    """Return a Python number as a NumPy scalar of `dtype`, as for `fill_` and `full`: what does not fit is an error.

    As in PyTorch, negative ints may wrap into unsigned dtypes, infinity fits every floating dtype, and anything fits
    bool. Raises RuntimeError where the value does not fit, OverflowError for an int beyond 64 bits.
    """
    wrapped = wrapped_scalar(value, dtype)
    check_fits(value, dtype)
    return wrapped


def check_fits(value: complex, dtype: DType) -> None:
    """Raise RuntimeError where `checked_scalar` does."""
    if not _fits(value, dtype):
        raise RuntimeError(f"value cannot be converted to type {dtype_name(dtype)} without overflow")


def _fits(value: complex, dtype: DType) -> bool:
    if dtype is bool_:
        return True
    if isinstance(value, complex):
        if dtype in COMPLEX:
            return _fits(value.real, to_real(dtype)) and _fits(value.imag, to_real(dtype))
        return value.imag == 0 and _fits(value.real, dtype)
    if dtype in INTEGRAL:
        info = np.iinfo(dtype)
        low = -int(info.max) if dtype.kind == "u" and isinstance(value, int) else int(info.min)
        return low <= value <= int(info.max)  # (False for NaN)
    if not isinstance(value, int) and not math.isfinite(value):
        return True
    return abs(value) <= _largest(to_real(dtype))


@cache
def _largest(dtype: DType) -> float:
    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
