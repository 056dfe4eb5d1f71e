"""Convolutions, and the patches that they slide over."""

from __future__ import annotations

from collections.abc import Sequence

import opwright
from opwright.nn.annotations import A

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "unfold",
]

Ints = int | Sequence[int]


def conv1d(
    input: A,
    weight: A,
    bias: A | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> A:
    """The cross-correlation with filters over 1 dimension; padding may be "valid" or "same"."""
    return opwright.conv1d(input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: A,
    weight: A,
    bias: A | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> A:
    """The cross-correlation with filters over 2 dimensions; padding may be "valid" or "same"."""
    return opwright.conv2d(input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: A,
    weight: A,
    bias: A | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> A:
    """The cross-correlation with filters over 3 dimensions; padding may be "valid" or "same"."""
    return opwright.conv3d(input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: A,
    weight: A,
    bias: A | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> A:
    """The transpose of `conv1d`, which spreads each element over a filter's window."""
    return opwright.conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: A,
    weight: A,
    bias: A | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> A:
    """The transpose of `conv2d`, which spreads each element over a filter's window."""
    return opwright.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: A,
    weight: A,
    bias: A | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> A:
    """The transpose of `conv3d`, which spreads each element over a filter's window."""
    return opwright.conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def unfold(input: A, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> A:
    """The windows of a batch of images as columns."""
    return opwright.im2col(input, kernel_size, dilation, padding, stride)


def fold(input: A, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> A:
    """Images from columns of windows; elements of windows that overlap are added."""
    return opwright.col2im(input, output_size, kernel_size, dilation, padding, stride)
