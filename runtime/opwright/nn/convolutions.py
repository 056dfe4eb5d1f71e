"""Convolutions, and the patches that they slide over."""

from __future__ import annotations

from collections.abc import Sequence

import opwright
from opwright.nn.annotations import A

__all__ = [
    "fold",
    "unfold",
]

Ints = int | Sequence[int]


def unfold(input: A, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> A:
    """Return the windows of a batch of images as columns."""
    return opwright.im2col(input, kernel_size, dilation, padding, stride)


def fold(input: A, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> A:
    """Return images from columns of windows; elements of windows that overlap are added."""
    return opwright.col2im(input, output_size, kernel_size, dilation, padding, stride)
