"""Backward and forward functions of images sampled at positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base
from opwright_kernels.images.grids import Options, sampled, scattered

Tensor = Any
aten: Any = opwright.ops.aten


def grid_sampler_backward(
    grad: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of images and of positions."""
    options = Options(interpolation_mode, padding_mode, align_corners)
    of_input = without_base(scattered(grad, grid, input.shape, options)) if mask[0] else None
    if not mask[1]:
        return of_input, None
    slopes = [sampled(input, grid, options, along) for along in range(grid.shape[-1])]
    return of_input, aten.stack([aten.sum(grad * each, [1]) for each in slopes], -1)


def grid_sampler_forward(
    input_t: Tensor,
    grid_t: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """Return the tangents of samples: as images move, and as positions do."""
    options = Options(interpolation_mode, padding_mode, align_corners)
    total = sampled(input_t, grid, options)
    for along in range(grid.shape[-1]):
        total = total + sampled(input, grid, options, along) * aten.unsqueeze(aten.select(grid_t, -1, along), 1)
    return total
