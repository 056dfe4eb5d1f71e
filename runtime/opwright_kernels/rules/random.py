"""Random numbers: written into arrays, or drawn by the chances that arrays give."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import (
    FLOATING,
    REDUCED,
    DType,
    as_dtype,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int64,
    uint16,
    uint32,
    uint64,
)
from opwright_core.arrays.sizes import holds
from opwright_core.errors import DispatchError
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_core.rules.factories import empty, overwritten

# Integers up to 2 to this power are exact in the dtype.
_DIGITS = {float16: 11, bfloat16: 8, float32: 24, float64: 53}


def uniform(self: Any, from_: float, to: float) -> Plan:
    """Plan numbers in [from, to), floating-point or complex. Raises RuntimeError for from > to."""
    plan = overwritten(self, accepts="floating complex")
    if not from_ <= to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    return plan


def normal(self: Any, std: float) -> Plan:
    """Plan numbers of a standard deviation, floating-point or complex. Raises RuntimeError for a negative one."""
    plan = overwritten(self, accepts="floating complex")
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return plan


def positive(self: Any, operator: str, name: str, value: float) -> Plan:
    """Plan floating-point numbers of a distribution with a parameter above 0. Raises RuntimeError for another one."""
    plan = overwritten(self, accepts="floating")
    if not value > 0:
        raise RuntimeError(f"{operator} expects {name} > 0.0, but found {name}={value}")
    return plan


def geometric(self: Any, p: float) -> Plan:
    """Plan numbers of trials of chance `p`. Raises RuntimeError for one that is not between 0 and 1."""
    plan = overwritten(self, accepts="integer floating")
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return plan


def bernoulli(self: Any, p: float) -> Plan:
    """Plan 0 or 1, with chance `p`. Raises RuntimeError for no chance."""
    plan = overwritten(self, accepts="bool integer floating")
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli expects p to be in [0, 1], but got p={p}")
    return plan


def integers(self: Any, from_: int, to: int | None) -> Plan:
    """Plan integers in [from, to); up to the largest that the dtype counts to where `to` is None.

    Raises RuntimeError where there are none, or the dtype cannot hold them.
    """
    plan = overwritten(self, accepts="bool integer floating")
    dtype = plan.dtype
    last = largest_integer(dtype) if to is None else to - 1
    if not holds(last >= from_):
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={from_} >= to={last + 1}")
    _check_bound("from", from_, dtype)
    _check_bound("to - 1", last, dtype)
    return plan


def largest_integer(dtype: DType) -> int:
    """Return the largest integer up to which the dtype counts."""
    if dtype in FLOATING:
        return int(1 << _DIGITS[dtype])
    return 1 if dtype == bool_ else int(np.iinfo(dtype).max)


def _check_bound(name: str, bound: int, dtype: DType) -> None:
    if dtype in FLOATING:
        high = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        low = -high
    else:
        high, low = largest_integer(dtype), 0 if dtype == bool_ else int(np.iinfo(dtype).min)
    if not (holds(low <= bound) and holds(bound <= high)):
        raise RuntimeError(f"{name} is out of bounds for {dtype}")


def permutation(n: int, *, dtype: object, device: object) -> Plan:
    """Plan the numbers below `n`. Raises RuntimeError where the dtype cannot hold them, DispatchError for no number."""
    plan = empty([n], dtype=int64 if dtype is None else dtype, device=device)
    if plan.dtype not in FLOATING and (plan.dtype.kind not in "iu" or plan.dtype in (uint16, uint32, uint64)):
        raise DispatchError(f"randperm: not implemented for {plan.dtype}")
    if plan.dtype in FLOATING and not holds(n <= largest_integer(plan.dtype) + 1):
        raise RuntimeError(f"n is too large for result tensor type: {plan.dtype}")
    return plan


def multinomial(self: Any, num_samples: int, replacement: bool) -> Plan:
    """Plan positions drawn along the last of one or two dimensions; int64, contiguous."""
    if self.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if as_dtype(self.dtype) not in FLOATING:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {self.dtype}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and not holds(num_samples <= self.shape[-1]):
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    shape = (*self.shape[:-1], num_samples)
    return Plan(TensorSpec(shape, layouts.contiguous_strides(shape), int64), (self,))


def binomial(count: Any, prob: Any) -> Plan:
    """Plan a number for each pair of elements of two arrays that broadcast, in the dtype of the first."""
    for name, given in (("count", count), ("prob", prob)):
        if as_dtype(given.dtype) not in FLOATING:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {given.dtype}")
        if as_dtype(given.dtype) in REDUCED:
            raise DispatchError(f"binomial is not implemented for {given.dtype}")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {prob.dtype} but expected {count.dtype}")
    shape = layouts.broadcast_shapes([count.shape, prob.shape])
    return Plan(TensorSpec(shape, layouts.contiguous_strides(shape), as_dtype(count.dtype)), (count, prob))
