"""Operators on each element that are made of others."""

from __future__ import annotations

import math
from typing import Any

import opwright
from opwright_core.arrays.dtypes import COMPLEX, SCALAR_TYPE_NAME, as_dtype, bool_, complex128, float64
from opwright_core.plans.operands import check_number
from opwright_core.rules.dimensions import check_room

Operand = Any  # a Tensor or a number


def positive(self: Operand) -> Operand:
    """Return the tensor itself. Raises RuntimeError for bool."""
    if as_dtype(self.dtype) is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


def conj(self: Operand) -> Operand:
    """Return the conjugate: a new tensor, there being no lazy one; the tensor itself where it is real."""
    return opwright.ops.aten._conj_physical(self) if as_dtype(self.dtype) in COMPLEX else self


def resolve_conj(self: Operand) -> Operand:
    """Return the tensor itself: no conjugate is lazy."""
    return self


def resolve_neg(self: Operand) -> Operand:
    """Return the tensor itself: no negative is lazy."""
    return self


def is_conj(self: Operand) -> bool:
    """Return False: no conjugate is lazy."""
    return False


def is_neg(self: Operand) -> bool:
    """Return False: no negative is lazy."""
    return False


def float_power(self: Operand, exponent: Operand) -> Operand:
    """Return the power in double precision, whatever the dtypes."""
    dtype = _double(self, exponent)
    return opwright.ops.aten.pow(_cast(self, dtype), _cast(exponent, dtype))


def float_power_out(self: Operand, exponent: Operand, out: Operand) -> Operand:
    """Write `float_power` into a tensor of its dtype."""
    dtype = _double(self, exponent)
    if as_dtype(out.dtype) is not dtype:
        raise RuntimeError(
            f"the output given to float_power has dtype {SCALAR_TYPE_NAME[as_dtype(out.dtype)]} but the operation's "
            f"result requires dtype {SCALAR_TYPE_NAME[dtype]}"
        )
    return opwright.ops.aten.pow(_cast(self, dtype), _cast(exponent, dtype), out=out)


def float_power_(self: Operand, exponent: Operand) -> Operand:
    """Write `float_power` over its base."""
    dtype = _double(self, exponent)
    if as_dtype(self.dtype) is not dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {SCALAR_TYPE_NAME[as_dtype(self.dtype)]} but the operation's "
            f"result requires dtype {SCALAR_TYPE_NAME[dtype]}"
        )
    return opwright.ops.aten.pow_(self, _cast(exponent, dtype))


def mvlgamma(self: Operand, p: int) -> Operand:
    """Return the logarithm of the gamma function of `p` variables. Raises RuntimeError for bool, or `p` less than 1."""
    return opwright.ops.aten.add(_lgammas(self, p), _mvlgamma_constant(p))


def _lgammas(self: Operand, p: int) -> Operand:
    aten, dtype = opwright.ops.aten, as_dtype(self.dtype)
    if dtype is bool_ or dtype in COMPLEX:
        raise RuntimeError(f"mvlgamma: not implemented for {dtype}")
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, but got {p}")
    check_room(p)
    return aten.sum(aten.stack([aten.lgamma(aten.sub(self, 0.5 * position)) for position in range(p)], -1), [-1])


def _mvlgamma_constant(p: int) -> float:
    return p * (p - 1) / 4 * math.log(math.pi)


def _double(*operands: Operand) -> Any:
    is_complex = any(
        isinstance(each, complex) or (hasattr(each, "dtype") and as_dtype(each.dtype) in COMPLEX) for each in operands
    )
    return complex128 if is_complex else float64


def _cast(operand: Operand, dtype: Any) -> Operand:
    if hasattr(operand, "dtype"):
        return opwright.ops.aten.to(operand, dtype)
    check_number(operand, dtype)
    return complex(operand) if dtype is complex128 else float(operand)
