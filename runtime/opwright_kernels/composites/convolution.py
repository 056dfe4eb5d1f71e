"""Convolutions of one, two and three dimensions, with or without a batch, over the general one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright

Operand = Any
Sizes = Sequence[int]


def conv1d(
    input: Operand,
    weight: Operand,
    bias: Operand | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Operand:
    """Convolve (N, C, L) or (C, L); `padding` is sizes, "same" or "valid"."""
    if isinstance(padding, str):
        return _padded_by_name(1, input, weight, bias, stride, padding, dilation, groups)
    return _convolved(1, input, weight, bias, stride, padding, dilation, False, [0], groups)


def conv2d(
    input: Operand,
    weight: Operand,
    bias: Operand | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Operand:
    """Convolve (N, C, H, W) or (C, H, W); `padding` is sizes, "same" or "valid"."""
    if isinstance(padding, str):
        return _padded_by_name(2, input, weight, bias, stride, padding, dilation, groups)
    return _convolved(2, input, weight, bias, stride, padding, dilation, False, [0], groups)


def conv3d(
    input: Operand,
    weight: Operand,
    bias: Operand | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Operand:
    """Convolve (N, C, D, H, W) or (C, D, H, W); `padding` is sizes, "same" or "valid"."""
    if isinstance(padding, str):
        return _padded_by_name(3, input, weight, bias, stride, padding, dilation, groups)
    return _convolved(3, input, weight, bias, stride, padding, dilation, False, [0], groups)


def conv_transpose1d(
    input: Operand,
    weight: Operand,
    bias: Operand | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Operand:
    """Apply a transposed convolution to (N, C, L) or (C, L)."""
    return _convolved(1, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv_transpose2d(
    input: Operand,
    weight: Operand,
    bias: Operand | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Operand:
    """Apply a transposed convolution to (N, C, H, W) or (C, H, W)."""
    return _convolved(2, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv_transpose3d(
    input: Operand,
    weight: Operand,
    bias: Operand | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Operand:
    """Apply a transposed convolution to (N, C, D, H, W) or (C, D, H, W)."""
    return _convolved(3, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def _convolved(ndim: int, input: Operand, weight: Operand, *options: Any) -> Operand:
    """Call `convolution`, with a batch of one where there is no batch."""
    aten = opwright.ops.aten
    if len(input.shape) not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"Expected {ndim + 1}D (unbatched) or {ndim + 2}D (batched) input to a {ndim}D convolution, "
            f"but got input of size: {list(input.shape)}"
        )
    if len(input.shape) == ndim + 2:
        return aten.convolution(input, weight, *options)
    return aten.squeeze(aten.convolution(aten.unsqueeze(input, 0), weight, *options), 0)


def _padded_by_name(
    ndim: int,
    input: Operand,
    weight: Operand,
    bias: Operand | None,
    stride: Sizes,
    padding: str,
    dilation: Sizes,
    groups: int,
) -> Operand:
    aten = opwright.ops.aten
    if padding not in ("same", "valid"):
        raise RuntimeError(f"Invalid padding string: {padding!r}")
    if padding == "valid":
        return _convolved(ndim, input, weight, bias, stride, [0], dilation, False, [0], groups)
    kernel = weight.shape[2:]
    if len(kernel) != ndim:
        raise RuntimeError(f"a {ndim}D convolution expects a weight of {ndim + 2} dimensions, got {list(weight.shape)}")
    for name, values in (("stride", stride), ("dilation", dilation)):
        if len(values) not in (1, ndim):
            raise RuntimeError(f"{name} cannot broadcast to {ndim} dimensions: {list(values)}")
    if any(step != 1 for step in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    gaps = list(dilation) * ndim if len(dilation) == 1 else dilation
    total = [gap * (extent - 1) for gap, extent in zip(gaps, kernel, strict=True)]
    if any(each % 2 != 0 for each in total):  # one more at the end than at the start, as in PyTorch
        input = aten.constant_pad_nd(input, [more for each in reversed(total) for more in (0, each % 2)])
    pads = [each // 2 for each in total]
    return _convolved(ndim, input, weight, bias, stride, pads, dilation, False, [0], groups)
