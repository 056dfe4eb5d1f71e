"""Elementwise operators: TensorIterator's shapes, dtypes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import DtypeKinds, Elementwise
from opwright_core.arrays.dtypes import COMPLEX, INEXACT, DType, as_dtype, bool_, int64, opmath, to_float, to_real
from opwright_core.arrays.promotion import result_type
from opwright_core.arrays.sizes import SymbolicBool, SymbolicFloat
from opwright_core.plans.operands import NUMBERS, check_accepted, check_devices, check_number, extent, needs_cast
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import SpecCache, TensorSpec

_known = SpecCache()


def pointwise(
    *operands: Elementwise | None,
    kind: Literal[
        "default", "int_to_float", "bool", "no_opmath", "complex_to_float", "bool_to_long", "int_and_complex_to_float"
    ] = "default",
    dtype: object = None,
    compute_dtype: object = None,
    exact_scalars: bool = False,
    accepts: DtypeKinds | None = None,
    accepts_operands: DtypeKinds | None = None,
    alpha: complex = 1,
) -> Plan:
    """Plan an elementwise operator: operands broadcast and are promoted, and strides are TensorIterator's.

    `kind` says how the result's dtype follows from the promoted one: `default` (the same), `int_to_float` (integers
    compute in the default dtype), `bool` (a comparison), `no_opmath` (half and bfloat16 are not computed in float32),
    `complex_to_float` (`abs`), `int_and_complex_to_float` (`angle`), `bool_to_long`. `dtype` is the result's dtype, to
    which the kernel's result is converted, whatever it is; `compute_dtype` replaces the promoted dtype:
    operands are converted to it before the kernel sees them. `exact_scalars`: 0-dim operands and numbers are not
    rounded to half first (`mul`, `div`). `accepts` lists what the promoted dtype may be (`bool integer floating
    complex`, or floating dtypes by name), `accepts_operands` what every operand's may be; `alpha` is a factor that must
    fit the promoted dtype. Operands may be arrays, numbers or None.
    Raises RuntimeError where sizes or dtypes do not fit together, DispatchError for a dtype that is not accepted.
    """
    key: list[Any] = [kind, dtype, compute_dtype, exact_scalars, accepts, accepts_operands]
    operand: Any  # its class tells what it has
    for operand in operands:
        cls = type(operand)
        key.append(cls)
        if cls is np.ndarray:
            key += (operand.shape, operand.strides, operand.dtype)
        elif cls is int:
            key.append(operand < 2**63)
        elif operand is not None and not isinstance(operand, NUMBERS):
            key += (operand.shape, operand.strides, operand.dtype)
    found = tuple(key)
    spec = _known.get(found)
    if spec is None:
        spec = _pointwise_spec(operands, kind, dtype, compute_dtype, exact_scalars)
        check_accepted(accepts, spec.common)
        if accepts_operands is not None:
            check_accepted(accepts_operands, *(result_type(operand) for operand in operands if operand is not None))
        _known.keep(found, spec)
    if type(alpha) is not int or alpha != 1:
        _check_alpha(alpha, spec.common)
    return Plan(spec, operands)


def _pointwise_spec(
    operands: Sequence[Any], kind: str, dtype: object, compute_dtype: object, exact_scalars: bool
) -> TensorSpec:
    given = [operand for operand in operands if operand is not None]
    common = result_type(*given) if compute_dtype is None else as_dtype(compute_dtype)
    if kind in ("int_to_float", "int_and_complex_to_float"):
        common = to_float(common)
    compute = common if kind == "no_opmath" else opmath(common)
    produces, result = _result_dtypes(kind, common, compute)
    shapes = [() if isinstance(operand, NUMBERS) else operand.shape for operand in given]
    shape = layouts.broadcast_shapes(shapes)
    check_devices(given)
    strides = layouts.pointwise_strides(shape, [extent(operand, common) for operand in given])
    casts = tuple(operand is not None and needs_cast(operand, compute) for operand in operands)
    spec = TensorSpec(
        shape, strides, result, common, compute, produces, casts, pointwise=True, exact_scalars=exact_scalars
    )
    return spec if dtype is None else spec.converted(as_dtype(dtype))


def _check_alpha(alpha: complex, common: DType) -> None:
    if isinstance(alpha, bool | SymbolicBool) and common is not bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float | SymbolicFloat) and common not in INEXACT:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and common not in COMPLEX:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    check_number(alpha, common)


def _result_dtypes(kind: str, common: DType, compute: DType) -> tuple[DType, DType]:
    match kind:
        case "default" | "int_to_float" | "no_opmath":
            return compute, common
        case "bool":
            return bool_, bool_
        case "complex_to_float" | "int_and_complex_to_float":
            return to_real(compute), to_real(common)
        case "bool_to_long":
            return (int64, int64) if common is bool_ else (compute, common)
    raise ValueError(f"{kind!r} is no kind of pointwise operator")
