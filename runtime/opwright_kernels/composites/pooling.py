"""Pooling over one dimension, and without the positions of maxima, over the operators for two and three."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base

Operand = Any
Sizes = Sequence[int]


def max_pool1d_with_indices(
    self: Operand, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Operand, Operand]:
    """Return the largest elements of windows of (N, C, L) or (C, L), and their positions."""
    aten = opwright.ops.aten
    _check_row(self, "max_pool1d_with_indices")
    kernel, steps = _with_row("kernel_size", kernel_size, 1), _with_row("stride", stride or kernel_size, 1)
    pads, spread = _with_row("padding", padding, 0), _with_row("dilation", dilation, 1)
    values, indices = aten.max_pool2d_with_indices(aten.unsqueeze(self, -2), kernel, steps, pads, spread, ceil_mode)
    return without_base(aten.squeeze(values, -2)), without_base(aten.squeeze(indices, -2))


def max_pool1d(
    self: Operand, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Operand:
    """Return the largest elements of windows of (N, C, L) or (C, L), row-major."""
    values, _ = max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)
    return opwright.ops.aten.contiguous(values)


def avg_pool1d(
    self: Operand, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool, count_include_pad: bool
) -> Operand:
    """Return the averages of windows of (N, C, L) or (C, L)."""
    aten = opwright.ops.aten
    _check_row(self, "avg_pool1d")
    kernel, steps = _with_row("kernel_size", kernel_size, 1), _with_row("stride", stride or kernel_size, 1)
    pads = _with_row("padding", padding, 0)
    pooled = aten.avg_pool2d(aten.unsqueeze(self, -2), kernel, steps, pads, ceil_mode, count_include_pad)
    return aten.squeeze(pooled, -2)


def adaptive_avg_pool1d(self: Operand, output_size: Sizes) -> Operand:
    """Return the averages of as many windows of (N, C, L) or (C, L) as asked for."""
    aten = opwright.ops.aten
    _check_row(self, "adaptive_avg_pool1d")
    pooled = aten.adaptive_avg_pool2d(aten.unsqueeze(self, -2), _with_row("output_size", output_size, 1))
    return aten.squeeze(pooled, -2)


def adaptive_max_pool1d(self: Operand, output_size: Sizes) -> tuple[Operand, Operand]:
    """Return the largest elements of as many windows of (N, C, L) or (C, L) as asked for, and their positions."""
    aten = opwright.ops.aten
    _check_row(self, "adaptive_max_pool1d")
    values, indices = aten.adaptive_max_pool2d(aten.unsqueeze(self, -2), _with_row("output_size", output_size, 1))
    return aten.squeeze(values, -2), aten.squeeze(indices, -2)


def _check_row(self: Operand, name: str) -> None:
    if len(self.shape) not in (2, 3):
        raise RuntimeError(f"{name}(): expected 2 dimensions, or 3 with a batch, but got {list(self.shape)}")


def _with_row(name: str, values: Sizes, row: int) -> list[int]:
    if len(values) != 1:
        raise RuntimeError(f"{name} must be one int, but got {list(values)}")
    return [row, values[0]]
