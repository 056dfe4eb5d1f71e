"""Operators that normalise over some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Along, Dim
from opwright_core.arrays.dtypes import REDUCED, DType, as_dtype, float32, opmath
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import holds
from opwright_core.plans.operands import check_accepted
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_core.rules.dimensions import wrap_dims
from opwright_kernels.rules.memory_formats import suggested_strides

_normalized = SpecCache()
_layers = SpecCache()
_statistics = SpecCache()


def normalized(self: Along, dim: Dim, half_to_float: bool = False) -> Plan:
    """Plan `self` normalised along `dim` (`softmax`): same shape, floating-point only."""
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")
    key = (self.shape, self.dtype, dim)
    spec = _normalized.get(key)
    if spec is None:
        dims = wrap_dims(dim, self.ndim)
        given = as_dtype(self.dtype)
        check_accepted("floating", given)
        compute = opmath(given)
        strides = layouts.contiguous_strides(self.shape)
        casts = (given is not compute,)
        spec = _normalized.keep(key, TensorSpec(self.shape, strides, given, given, compute, compute, casts, dims=dims))
    return Plan(spec, (self,))


def layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any | None, bias: Any | None) -> Plan:
    """Plan `input` normalised over its last dimensions: same shape and dtype, contiguous. Raises RuntimeError where
    shapes do not fit."""
    last = tuple(normalized_shape)
    key = (input.shape, input.dtype, last, _seen(weight), _seen(bias))
    spec = _layers.get(key)
    if spec is None:
        _check_layer(last, input, weight, bias)
        spec = _normalized_plan(layouts.contiguous_strides(input.shape), input, weight, bias).spec
        _layers.keep(key, spec)
    return Plan(spec, (input, weight, bias))


def _seen(parameter: Any) -> Any:
    return None if parameter is None else (parameter.shape, parameter.dtype)


def _check_layer(last: Shape, input: Any, weight: Any, bias: Any) -> None:
    if not last:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element"
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and not layouts.same_shape(each.shape, last):
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(each.shape)} "
                f"and normalized_shape = {list(last)}"
            )
    if input.ndim < len(last) or not layouts.same_shape(input.shape[input.ndim - len(last) :], last):
        raise RuntimeError(
            f"Given normalized_shape={list(last)}, expected input with shape [*, {', '.join(map(str, last))}], "
            f"but got input of size{list(input.shape)}"
        )


def _normalized_plan(strides: Shape, *operands: Any) -> Plan:
    """Plan the shape and dtype of the first operand; the others are parameters, or None."""
    shape, given = operands[0].shape, as_dtype(operands[0].dtype)
    check_accepted("floating", given)
    statistics_dtype(*operands)
    compute = opmath(given)
    casts = tuple([each is not None and each.dtype is not compute for each in operands])
    return Plan(TensorSpec(shape, strides, given, given, compute, compute, casts), operands)


def statistics_dtype(input: Any, *parameters: Any) -> DType:
    """Return the dtype of means and deviations: the input's, or float32 where the parameters of half and bfloat16 are.
    Raises RuntimeError for other mixtures."""
    given = as_dtype(input.dtype)
    kept = {as_dtype(each.dtype) for each in parameters if each is not None}
    if kept <= {given}:
        return given
    if given in REDUCED and kept == {float32}:
        return float32
    names = ", ".join(sorted(map(str, kept)))
    raise RuntimeError(f"mixed dtype: parameters of {names} do not go with an input of {given}")


def layer_norm_statistics(
    input: Any, normalized_shape: Sequence[int], weight: Any | None = None, bias: Any | None = None
) -> Plan:
    """Plan the mean, or the reciprocal deviation, of each normalised part of `input`."""
    key = (input.shape, input.dtype, len(normalized_shape), _seen(weight), _seen(bias))
    spec = _statistics.get(key)
    if spec is None:
        split = input.ndim - len(normalized_shape)
        shape = (*input.shape[:split], *(1,) * len(normalized_shape))
        spec = _statistics.keep(key, _row_major(input, shape, statistics_dtype(input, weight, bias)).spec)
    return Plan(spec, (input,))


def _row_major(input: Any, shape: Shape, dtype: DType) -> Plan:
    return Plan(TensorSpec(shape, layouts.contiguous_strides(shape), dtype), (input,))


def batch_norm(
    input: Any, weight: Any | None, bias: Any | None, running_mean: Any | None, running_var: Any | None, training: bool
) -> Plan:
    """Plan (N, C, ...) normalised for each channel. Raises RuntimeError unless each parameter has an element per
    channel, and where there is nothing to normalise by."""
    channels = _channels(input)
    named = (("weight", weight), ("bias", bias), ("running_mean", running_mean), ("running_var", running_var))
    for name, each in named:
        if each is not None and not layouts.same_shape((layouts.count(each.shape),), (channels,)):
            raise RuntimeError(f"{name} should contain {channels} elements, but its size is {list(each.shape)}")
        if each is not None and name.startswith("running") and each.ndim != 1:
            raise RuntimeError(f"{name} should have one dimension, but its size is {list(each.shape)}")
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
    if training and layouts.is_empty(input.shape):
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    operands = (input, weight, bias, running_mean, running_var)
    return _normalized_plan(suggested_strides(input.shape, input), *operands)


def _channels(input: Any) -> int:
    if input.ndim < 2:
        raise IndexError(
            f"expected a dimension of channels after the batch, but got an input of {input.ndim} dimensions"
        )
    channels: int = input.shape[1]
    return channels


def batch_norm_statistics(
    input: Any, weight: Any | None, bias: Any | None, running_mean: Any | None, running_var: Any | None, training: bool
) -> Plan:
    """Plan the mean, or the reciprocal deviation, of each channel; nothing where running ones were used."""
    kept = statistics_dtype(input, weight, bias, running_mean, running_var)
    return _row_major(input, (_channels(input),) if training else (0,), kept)


def group_norm(input: Any, weight: Any | None, bias: Any | None, N: int, C: int, HxW: int, group: int) -> Plan:
    """Plan N images of C channels, normalised over `group` groups of these. Raises RuntimeError naming sizes that do
    not fit."""
    if not holds(layouts.count(input.shape) == N * C * HxW):
        raise RuntimeError(f"an input of size {list(input.shape)} does not have {N} × {C} × {HxW} elements")
    if group < 1 or not holds(C % group == 0):
        raise RuntimeError(
            f"the number of channels in input must be divisible by num_groups, but got {C} channels and {group} groups"
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and (each.ndim != 1 or not holds(each.shape[0] == C)):
            raise RuntimeError(f"{name} must be a vector of {C} elements, but its size is {list(each.shape)}")
    return _normalized_plan(suggested_strides(input.shape, input), input, weight, bias)


def group_norm_statistics(input: Any, weight: Any | None, bias: Any | None, N: int, group: int) -> Plan:
    """Plan the mean, or the reciprocal deviation, of each group of each image."""
    return _row_major(input, (N, group), statistics_dtype(input, weight, bias))
