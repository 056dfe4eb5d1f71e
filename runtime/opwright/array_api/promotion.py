"""Dtypes of the standard: what they are, which one holds two, and operands brought to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from opwright.creation.construction import tensor
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import FLOATING, INTEGRAL, DType, as_dtype, bool_, to_real, uint64
from opwright_core.arrays.promotion import NUMBERS, castable, combine_categories, promote, scalar_dtype
from opwright_core.tensors.tensor import Tensor

__all__ = ["DTYPES", "KINDS", "Operand", "astype", "can_cast", "finfo", "iinfo", "isdtype", "promoted", "result_type"]

Operand: TypeAlias = Tensor | bool | int | float | complex

KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
DTYPES = {name: as_dtype(name) for name in KINDS["bool"] + KINDS["numeric"]}


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """The limits of a floating-point dtype, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """The limits of an integer dtype, as Python numbers."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: DType | Tensor, /) -> FloatInfo:
    """Return the limits of a floating-point dtype, those of its parts for a complex one; TypeError for others."""
    dtype = to_real(_dtype_of(type))
    if dtype not in FLOATING:
        raise TypeError(f"finfo: expected a floating-point or complex dtype, but got {dtype}; iinfo is for integers")
    found: Any = _float_limits(dtype)
    eps, largest, smallest = float(found.eps), float(found.max), float(found.min)
    return FloatInfo(int(found.bits), eps, largest, smallest, float(found.smallest_normal), dtype)


def _float_limits(dtype: DType) -> Any:
    if dtype.kind == "f":
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def iinfo(type: DType | Tensor, /) -> IntegerInfo:
    """Return the limits of an integer dtype. Raises TypeError for others."""
    dtype = _dtype_of(type)
    if dtype not in INTEGRAL or dtype is bool_:
        raise TypeError(f"iinfo: expected an integer dtype, but got {dtype}; finfo is for floating-point ones")
    found = np.iinfo(dtype)
    return IntegerInfo(int(found.bits), int(found.max), int(found.min), dtype)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Whether a dtype is the one given, of the kind given (`"integral"`), or of one of several.

    Raises ValueError for a kind that there is not.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if not isinstance(kind, str):
        return as_dtype(dtype) == as_dtype(kind)
    if kind not in KINDS:
        raise ValueError(f"isdtype: expected a kind of these: {', '.join(KINDS)}; but got {kind!r}")
    wanted = as_dtype(dtype)
    if kind == "real floating":
        return wanted in FLOATING
    return any(wanted == DTYPES[name] for name in KINDS[kind])


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Device | str | None = None) -> Tensor:
    """Return `x` cast to `dtype`: a copy, or with `copy=False` `x` itself where nothing would change."""
    moved: Tensor = x if device is None else x.to(device)
    return moved.to(dtype, copy=copy and moved is x)


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Whether promotion may make `to` of `from_`: what holds both is `to` itself."""
    source, target = _dtype_of(from_), as_dtype(to)
    if uint64 in (source, target) and "i" in (source.kind, target.kind):
        return False  # no integer dtype holds both
    return castable(source, target) and promote(source, target) == target


def result_type(*arrays_and_dtypes: Operand | DType) -> DType:
    """Return the dtype that holds all operands. Zero-dimensional arrays count as all arrays do, unlike in
    `opwright.result_type`; Python numbers raise the kind alone.

    Raises TypeError without an array or a dtype, RuntimeError where no integer holds uint64 and a signed one.
    """
    found: DType | None = None
    numbers: DType | None = None
    for each in arrays_and_dtypes:
        if isinstance(each, NUMBERS):
            one = scalar_dtype(each)
            numbers = one if numbers is None else promote(numbers, one)
        else:
            found = _dtype_of(each) if found is None else promote(found, _dtype_of(each))
    if found is None:
        raise TypeError("result_type: expected at least one array or dtype")
    return combine_categories(found, numbers) or found


def _dtype_of(each: Any) -> DType:
    return each.dtype if isinstance(each, Tensor) else as_dtype(each)


def promoted(*operands: Operand) -> tuple[Tensor, ...]:
    """Return the operands as tensors of the dtype that holds all, numbers on the device of the first array."""
    dtype = result_type(*operands)
    device = next(each.device for each in operands if isinstance(each, Tensor))
    return tuple(
        each.to(dtype) if isinstance(each, Tensor) else tensor(each, dtype=dtype, device=device) for each in operands
    )
