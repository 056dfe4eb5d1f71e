"""Elementwise operators that ask more than broadcasting and promotion: bounds, masks, powers, quotients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import DtypeKinds, Elementwise, Mask
from opwright_core.arrays.dtypes import (
    COMPLEX,
    INEXACT,
    INTEGRAL,
    SCALAR_TYPE_NAME,
    DType,
    as_dtype,
    bool_,
    to_complex,
    uint8,
)
from opwright_core.arrays.promotion import result_type, scalar_dtype
from opwright_core.arrays.sizes import shown
from opwright_core.errors import DispatchError
from opwright_core.plans.operands import NUMBERS, check_devices, check_number, extent, needs_cast
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_core.rules.pointwise import pointwise

_choices = SpecCache()


def pointwise_with(*operands: Elementwise | None, numbers: Sequence[complex], accepts: DtypeKinds | None) -> Plan:
    """Plan as `pointwise` does, with numbers that are no operands. Raises RuntimeError for one that does not fit the
    dtype that is computed in."""
    plan = pointwise(*operands, accepts=accepts)
    for number in numbers:
        check_number(number, plan.compute)
    return plan


def pointwise_of_result(
    *operands: Elementwise | None,
    numbers: Sequence[complex],
    slope: complex,
    is_result: bool,
    accepts: DtypeKinds | None,
) -> Plan:
    """Plan as `pointwise_with` does. Raises RuntimeError for the result of an activation with a negative slope below 0,
    which does not say where its operand was."""
    if is_result and (slope.real if isinstance(slope, complex) else slope) < 0:
        raise RuntimeError(f"of a result the gradient is not known where the slope {slope} made it positive")
    return pointwise_with(*operands, numbers=numbers, accepts=accepts)


def clamped(self: Elementwise, low: Elementwise | None, high: Elementwise | None) -> Plan:
    """Plan as `pointwise` does, with bounds. Raises RuntimeError where there is neither, and for a whole number that
    has all that an integer dtype holds on its other side."""
    plan = pointwise(self, low, high, accepts="bool integer floating")
    if low is None and high is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    return _saturated(plan, min=low, max=high)


def clamped_once(
    self: Elementwise, bound: Elementwise, *, side: Literal["min", "max"], accepts: DtypeKinds | None
) -> Plan:
    """Plan as `clamped` does, with one bound."""
    return _saturated(pointwise(self, bound, accepts=accepts), **{side: bound})


def _saturated(plan: Plan, **bounds: Any) -> Plan:
    """Return a plan by which the kernel gets whole numbers that an integer dtype holds, for bounds by their sides.
    Raises RuntimeError."""
    dtype = plan.spec.common
    if dtype not in INTEGRAL or not all(bound is None or type(bound) is int for bound in bounds.values()):
        return plan
    info = np.iinfo(dtype)
    lowest, highest = int(info.min), int(info.max)
    if all(bound is None or lowest <= bound <= highest for bound in bounds.values()):
        return plan
    for side, bound in bounds.items():
        if bound is not None and (bound > highest if side == "min" else bound < lowest):
            kind = SCALAR_TYPE_NAME[dtype]
            raise RuntimeError(f"Clamp {side} value {shown(bound)} is outside the representable range of {kind}")
    held = [None if bound is None else dtype.type(min(max(bound, lowest), highest)) for bound in bounds.values()]
    return Plan(plan.spec.with_numbers(held), plan.given)


def divided(self: Elementwise, other: Elementwise, rounding_mode: str | None) -> Plan:
    """Plan a quotient, rounded to an integer as the mode says. Raises RuntimeError for a mode that is not known,
    DispatchError for complex numbers where there is one."""
    kind: Literal["int_to_float", "default"] = "int_to_float" if rounding_mode is None else "default"
    plan = pointwise(self, other, kind=kind, accepts="integer floating complex")
    if rounding_mode is not None and rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    if rounding_mode is not None and plan.compute in COMPLEX:
        raise DispatchError(f"div with rounding_mode={rounding_mode!r}: not implemented for {plan.compute}")
    return plan


def polygamma(n: int, self: Elementwise) -> Plan:
    """Plan as `pointwise` does, for floats. Raises RuntimeError for a negative `n`."""
    plan = pointwise(self, kind="int_to_float", accepts="floating")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return plan


def where(condition: Mask, self: Elementwise, other: Elementwise) -> Plan:
    """Plan a choice between two operands, which are promoted together; the condition is bool or uint8.

    Raises RuntimeError for an int that an integer dtype does not hold.
    """
    key = (_seen(condition), _seen(self), _seen(other))
    spec = _choices.get(key)
    if spec is None:
        spec = _choices.keep(key, _where_spec(condition, self, other))
    _check_ints(spec.common, self, other)
    return Plan(spec, (condition, self, other))


def _seen(operand: Any) -> Any:
    """Return what a rule reads of an operand."""
    if isinstance(operand, NUMBERS):
        return type(operand), isinstance(operand, int) and operand >= 2**63
    return type(operand), operand.shape, operand.strides, operand.dtype


def _where_spec(condition: Any, self: Any, other: Any) -> TensorSpec:
    if condition.dtype not in (bool_, uint8):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    common = result_type(self, other)
    operands = (condition, self, other)
    extents = [extent(condition, condition.dtype), extent(self, common), extent(other, common)]
    shape = layouts.broadcast_shapes([sizes for sizes, _ in extents])
    check_devices([operand for operand in operands if not isinstance(operand, NUMBERS)])
    casts = (False, needs_cast(self, common), needs_cast(other, common))
    return TensorSpec(shape, layouts.pointwise_strides(shape, extents), common, casts=casts, pointwise=True)


def same_dtypes(*operands: Elementwise, accepts: DtypeKinds | None = None, numbers: Sequence[complex] = ()) -> Plan:
    """Plan as `pointwise` does, for operands of one dtype: the rule of `lerp` and `heaviside`. Numbers have none.

    Raises RuntimeError where dtypes differ, and for one of `numbers`, which are no operands, that does not fit.
    """
    dtypes = [operand.dtype for operand in operands if not isinstance(operand, NUMBERS)]
    if any(dtype != dtypes[0] for dtype in dtypes[1:]):
        raise RuntimeError(f"expected operands of one dtype, but got {', '.join(str(dtype) for dtype in dtypes)}")
    return pointwise_with(*operands, numbers=numbers, accepts=accepts)


def scaled(self: Elementwise, other: Elementwise) -> Plan:
    """Plan `self` by a power of two (`ldexp`): laid out as if the powers came in a contiguous array, but for half and
    bfloat16."""
    plan = pointwise(self, other, kind="int_to_float")
    spec = plan.spec
    if spec.compute is not spec.common:
        return plan
    powers = (other.shape, layouts.contiguous_strides(other.shape))
    strides = layouts.pointwise_strides(spec.shape, [extent(self, spec.common), powers])
    spec = TensorSpec(
        spec.shape, strides, spec.dtype, spec.common, spec.compute, spec.produces, spec.casts, pointwise=True
    )
    return Plan(spec, (self, other))


def complex_of(real: Elementwise, imag: Elementwise, *, accepts: DtypeKinds) -> Plan:
    """Plan a complex number of two real ones, of the dtypes in `accepts`. Raises RuntimeError where these differ."""
    if real.dtype != imag.dtype or str(real.dtype) not in accepts.split():
        raise RuntimeError(
            f"expected two operands of one dtype out of {', '.join(accepts.split())}, "
            f"but got {real.dtype} and {imag.dtype}"
        )
    spec = pointwise(real, imag).spec
    dtype = to_complex(spec.common)
    return Plan(TensorSpec(spec.shape, spec.strides, dtype, spec.common, spec.compute, dtype, spec.casts), (real, imag))


def membership(elements: Any, test_elements: Any) -> Plan:
    """Whether each element is one of the others (`isin`): bool, contiguous. Raises RuntimeError for bool and complex
    operands."""
    for operand in (elements, test_elements):
        dtype = scalar_dtype(operand) if isinstance(operand, NUMBERS) else as_dtype(operand.dtype)
        if dtype is bool_ or dtype in COMPLEX:
            raise RuntimeError(f"isin: dtype {dtype} is not supported")
    common = result_type(elements, test_elements)
    shape = () if isinstance(elements, NUMBERS) else elements.shape
    casts = (needs_cast(elements, common), needs_cast(test_elements, common))
    spec = TensorSpec(shape, layouts.contiguous_strides(shape), bool_, common, common, bool_, casts)
    return Plan(spec, (elements, test_elements))


def masked(self: Elementwise, mask: Mask, *, value: Any) -> Plan:
    """Plan `self`, broadcast with a mask, as a new contiguous array (`masked_fill`).

    Raises RuntimeError for a mask that is not bool, and a value that is no number or 0-dim array, or does not fit.
    """
    if mask.dtype != bool_:
        raise RuntimeError(f"masked_fill only supports boolean masks, but got mask with dtype {mask.dtype}")
    if not hasattr(value, "ndim"):
        check_number(value, as_dtype(self.dtype))
    elif value.ndim:
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    shape = layouts.broadcast_shapes([self.shape, mask.shape])
    strides = layouts.contiguous_strides(shape)
    return Plan(TensorSpec(shape, strides, as_dtype(self.dtype), pointwise=True, may_overlap=True), (self, mask))


def power_to_number(self: Elementwise, exponent: Elementwise) -> Plan:
    """Plan `self ** number`. Raises RuntimeError for an integer to a negative power, or to one that its dtype does not
    hold."""
    plan = pointwise(self, exponent)
    if plan.dtype not in INEXACT and exponent.real < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    _check_ints(plan.dtype, exponent)
    return plan


def _check_ints(dtype: DType, *numbers: Any) -> None:
    """Raise RuntimeError for an int that an integer dtype does not hold; negative ones may wrap around."""
    for number in numbers if dtype in INTEGRAL else ():
        if type(number) is int:
            check_number(number, dtype)


def power_of_number(self: Elementwise, exponent: Elementwise) -> Plan:
    """Plan `number ** exponent`; contiguous."""
    plan = pointwise(self, exponent, accepts="integer floating complex")
    spec = plan.spec
    shape, casts = spec.shape, spec.casts
    strides = layouts.contiguous_strides(shape)
    return Plan(
        TensorSpec(shape, strides, spec.dtype, spec.common, spec.compute, spec.produces, casts), (self, exponent)
    )
