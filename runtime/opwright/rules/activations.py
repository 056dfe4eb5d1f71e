"""Activations that are not plain pointwise operators."""

from __future__ import annotations

from typing import Any

from opwright import layouts
from opwright.devices import element_strides
from opwright.dtypes import as_dtype, opmath
from opwright.metadata import Form, Forms, Plan
from opwright.operands import check_accepted
from opwright.sizes import holds

_halves = Forms()
_contiguous = Forms()


def glu(self: Any, dim: int) -> Plan:
    """Half of `self` along `dim`. Raises RuntimeError for an odd size and for 0-dim arrays."""
    key = (self.shape, self.strides, self.dtype, dim)
    form = _halves.get(key)
    if form is None:
        form = _halves.keep(key, _halved(self, dim))
    return Plan(form, (self,))


def _halved(self: Any, dim: int) -> Form:
    if not self.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    place = layouts.wrap_dim(dim, self.ndim)
    size = self.shape[place]
    if not holds(size % 2 == 0):
        raise RuntimeError(f"Halving dimension must be even, but dimension {place} is size {size}")
    given = as_dtype(self.dtype)
    check_accepted("floating", given)
    compute = opmath(given)
    shape = (*self.shape[:place], size // 2, *self.shape[place + 1 :])
    half = (shape, element_strides(self))
    strides = layouts.pointwise_strides(shape, [half, half])
    return Form(shape, strides, given, given, compute, compute, (given is not compute,), dims=(place,))


def like_contiguous(self: Any) -> Plan:
    """The shape and dtype of `self`, which is floating-point; contiguous."""
    key = (self.shape, self.dtype)
    form = _contiguous.get(key)
    if form is None:
        given = as_dtype(self.dtype)
        check_accepted("floating", given)
        compute = opmath(given)
        strides = layouts.contiguous_strides(self.shape)
        casts = (given is not compute,)
        form = _contiguous.keep(key, Form(self.shape, strides, given, given, compute, compute, casts))
    return Plan(form, (self,))
