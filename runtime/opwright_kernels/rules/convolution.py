"""Results of convolutions, and the sizes that fit each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.devices import element_strides
from opwright_core.arrays.dtypes import COMPLEX, INTEGRAL, DType, as_dtype, float64, opmath
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import holds
from opwright_core.plans.operands import check_accepted
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_kernels.rules.memory_formats import suggests_channels_last
from opwright_kernels.rules.windows import check_at_least, per_dimension, window_count

_convolved = SpecCache()


def convolution(
    input: Any,
    weight: Any,
    bias: Any | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Plan:
    """Plan (N, C, *sizes) convolved with (O, C / groups, *kernel); transposed with (C, O / groups, *kernel).

    All of one dtype. Raises RuntimeError naming the sizes that do not fit.
    """
    operands = (input, weight, bias)
    seen = tuple([None if each is None else (each.shape, each.strides, each.dtype) for each in operands])
    options = (tuple(stride), tuple(padding), tuple(dilation), transposed, tuple(output_padding), groups)
    spec = _convolved.get((seen, options))
    if spec is None:
        _check_channels(input, weight, bias, transposed, groups)
        shape = _convolved_shape(input, weight, *options)
        given = as_dtype(input.dtype)
        check_accepted(_accepted(transposed, dilation), given)
        compute = opmath(given)
        casts = tuple([each is not None and given is not compute for each in operands])
        strides = _convolved_strides(shape, input, weight, given)
        spec = _convolved.keep((seen, options), TensorSpec(shape, strides, given, given, compute, None, casts))
    return Plan(spec, operands)


def convolved_shape(input: Any, weight: Any, *options: Any) -> Shape:
    """Return the shape of a convolution, whose options are stride, padding, dilation, transposed, output_padding and
    groups. Raises RuntimeError naming what does not fit."""
    _check_channels(input, weight, None, options[3], options[5])
    return _convolved_shape(input, weight, *options)


def _accepted(transposed: bool, dilation: Sequence[int]) -> str:
    """Return the dtypes accepted: PyTorch's transposed and dilated kernels handle no integers but int64."""
    is_dilated = any(each != 1 for each in dilation)
    return f"{'int64' if transposed or is_dilated else 'integer'} floating complex"


def _check_channels(input: Any, weight: Any, bias: Any, transposed: bool, groups: int) -> None:
    if weight.ndim < 3:
        raise RuntimeError(f"weight should have at least three dimensions, but its size is {list(weight.shape)}")
    if groups < 1:
        raise RuntimeError(f"groups must be positive, but got {groups}")
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, "
            f"but got {input.ndim}-dimensional input of size {list(input.shape)}"
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.dtype != input.dtype:
            raise RuntimeError(f"input and {name} must have one dtype, but got {input.dtype} and {each.dtype}")
    if not (holds(weight.shape[0] >= groups) and holds(weight.shape[0] % groups == 0)):
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by it at dimension 0, "
            f"but got weight of size {list(weight.shape)}"
        )
    channels, produced = weight.shape[1] * groups, weight.shape[0]
    if transposed:
        channels, produced = produced, channels
    if not holds(input.shape[1] == channels):
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input {list(input.shape)} "
            f"to have {channels} channels, but got {input.shape[1]}"
        )
    if bias is not None and (bias.ndim != 1 or not holds(bias.shape[0] == produced)):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {produced} elements, "
            f"but got bias of size {list(bias.shape)}"
        )


def _convolved_shape(
    input: Any,
    weight: Any,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
) -> Shape:
    ndim = weight.ndim - 2
    kernel = weight.shape[2:]
    steps = per_dimension("stride", stride, ndim)
    pads = per_dimension("padding", padding, ndim)
    spread = per_dimension("dilation", dilation, ndim)
    added = per_dimension("output_padding", output_padding, ndim)
    check_at_least(1, kernel_size=kernel, stride=steps, dilation=spread)
    check_at_least(0, padding=pads, output_padding=added)
    if layouts.is_empty(input.shape[2:]) and not layouts.is_empty(input.shape[:2]):
        raise RuntimeError(f"only the batch and the channels may be empty, but got input of size {list(input.shape)}")
    windows = list(zip(input.shape[2:], kernel, steps, pads, spread, strict=True))
    if not transposed:
        sizes = tuple([window_count(*window) for window in windows])
        if not all(holds(size >= 1) for size in sizes):
            raise RuntimeError(
                f"a kernel of size {list(kernel)} with dilation {list(spread)} does not fit into an input of size "
                f"{list(input.shape)} with padding {list(pads)}"
            )
        return (input.shape[0], weight.shape[0], *sizes)
    for more, step, gap in zip(added, steps, spread, strict=True):
        if more >= step and more >= gap:
            raise RuntimeError(
                f"output padding must be smaller than either stride or dilation, but got output_padding {list(added)}, "
                f"stride {list(steps)} and dilation {list(spread)}"
            )
    sizes = tuple([transposed_size(*window, more) for window, more in zip(windows, added, strict=True)])
    if not all(holds(size >= 1) for size in sizes):
        raise RuntimeError(f"an input of size {list(input.shape)} would give {list(sizes)}: output size is too small")
    return (input.shape[0], weight.shape[1] * groups, *sizes)


def transposed_size(size: int, kernel: int, stride: int, padding: int, dilation: int, output_padding: int) -> int:
    """Return the size whose windows would be `size` many."""
    return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1


def _convolved_strides(shape: Shape, input: Any, weight: Any, dtype: DType) -> Shape:
    """Return strides: channels last where the input or the weight suggests it; of one dimension the weight decides."""
    if len(shape) == 3:
        flat = (*shape[:2], 1, shape[2])
        if not _is_channels_last_with_row(weight):
            return layouts.contiguous_strides(shape)
        strides = layouts.channels_last_strides(flat)
        return (*strides[:2], strides[3])
    is_plain = len(shape) == 5 and (dtype in INTEGRAL or dtype in COMPLEX or dtype is float64)
    if not is_plain and any(suggests_channels_last(each.shape, element_strides(each)) for each in (input, weight)):
        return layouts.channels_last_strides(shape)
    return layouts.contiguous_strides(shape)


def _is_channels_last_with_row(weight: Any) -> bool:
    strides = element_strides(weight)
    row = weight.shape[2] * strides[2]
    return suggests_channels_last((*weight.shape[:2], 1, weight.shape[2]), (*strides[:2], row, strides[2]))
