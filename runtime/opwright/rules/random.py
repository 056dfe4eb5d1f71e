"""Random numbers drawn by the chances that arrays give."""

from __future__ import annotations

from typing import Any

from opwright import layouts
from opwright.dtypes import FLOATING, REDUCED, as_dtype, int64
from opwright.errors import DispatchError
from opwright.metadata import Form, Plan
from opwright.sizes import holds


def multinomial(self: Any, num_samples: int, replacement: bool) -> Plan:
    """Positions drawn along the last of one or two dimensions; int64, contiguous."""
    if self.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if as_dtype(self.dtype) not in FLOATING:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {self.dtype}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and not holds(num_samples <= self.shape[-1]):
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    shape = (*self.shape[:-1], num_samples)
    return Plan(Form(shape, layouts.contiguous_strides(shape), int64), (self,))


def binomial(count: Any, prob: Any) -> Plan:
    """A number for each pair of elements of two arrays that broadcast, in the dtype of the first."""
    for name, given in (("count", count), ("prob", prob)):
        if as_dtype(given.dtype) not in FLOATING:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {given.dtype}")
        if as_dtype(given.dtype) in REDUCED:
            raise DispatchError(f"binomial is not implemented for {given.dtype}")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {prob.dtype} but expected {count.dtype}")
    shape = layouts.broadcast_shapes([count.shape, prob.shape])
    return Plan(Form(shape, layouts.contiguous_strides(shape), as_dtype(count.dtype)), (count, prob))
