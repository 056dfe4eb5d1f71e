"""Operators that normalise over some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright import layouts
from opwright.dtypes import as_dtype, opmath
from opwright.metadata import Form, Forms, Plan
from opwright.operands import check_accepted

_normalized = Forms()


def normalized(self: Any, dim: int, half_to_float: bool = False) -> Plan:
    """`self` normalised along `dim` (`softmax`): same shape, floating-point only."""
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")
    key = (self.shape, self.dtype, dim)
    form = _normalized.get(key)
    if form is None:
        dims = layouts.wrap_dims(dim, self.ndim)
        given = as_dtype(self.dtype)
        check_accepted("floating", given)
        compute = opmath(given)
        strides = layouts.contiguous_strides(self.shape)
        casts = (given is not compute,)
        form = _normalized.keep(key, Form(self.shape, strides, given, given, compute, compute, casts, dims=dims))
    return Plan(form, (self,))


def layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any) -> Plan:
    """`input` normalised over its last dimensions: same shape and dtype, contiguous. Raises RuntimeError where shapes
    do not fit."""
    last = tuple(normalized_shape)
    if not last:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element"
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.shape != last:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(each.shape)} "
                f"and normalized_shape = {list(last)}"
            )
    if input.ndim < len(last) or input.shape[input.ndim - len(last) :] != last:
        raise RuntimeError(
            f"Given normalized_shape={list(last)}, expected input with shape [*, {', '.join(map(str, last))}], "
            f"but got input of size{list(input.shape)}"
        )
    given = as_dtype(input.dtype)
    check_accepted("floating", given)
    compute = opmath(given)
    operands = (input, weight, bias)
    casts = tuple(each is not None and each.dtype is not compute for each in operands)
    form = Form(input.shape, layouts.contiguous_strides(input.shape), given, given, compute, compute, casts)
    return Plan(form, operands)


def layer_norm_statistics(input: Any, normalized_shape: Sequence[int], weight: Any = None) -> Plan:
    """The mean, or the reciprocal deviation, of each normalised part of `input`; in the dtype of the weight, where
    there is one."""
    split = input.ndim - len(normalized_shape)
    shape = (*input.shape[:split], *(1,) * len(normalized_shape))
    kept = as_dtype((input if weight is None else weight).dtype)
    return Plan(Form(shape, layouts.contiguous_strides(shape), kept), (input,))
