"""Images sampled at positions, and the positions of affine maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import as_dtype, opmath
from opwright_core.arrays.sizes import holds
from opwright_core.core import compiled
from opwright_kernels.gradients import grids as gradients
from opwright_kernels.images.grids import Options, sampled

Operand = Any


def grid_sampler(
    input: Operand, grid: Operand, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Operand:
    """Return (N, C, *positions) of images or volumes, each at its own positions."""
    aten: Any = opwright.ops.aten
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected 4 dimensions or 5 and as many of the grid, but got an input of size "
            f"{list(input.shape)} and a grid of size {list(grid.shape)}"
        )
    function = aten.grid_sampler_2d if input.ndim == 4 else aten.grid_sampler_3d
    return function(input, grid, interpolation_mode, padding_mode, align_corners)


@compiled
def grid_sampler_2d(
    input: Operand, grid: Operand, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Operand:
    """Return (N, C, *positions) of images, each at its own positions."""
    options = Options(interpolation_mode, padding_mode, align_corners)
    _check(input, grid, 2, options)
    return sampled(input, grid, options)


@compiled
def grid_sampler_3d(
    input: Operand, grid: Operand, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Operand:
    """Return (N, C, *positions) of volumes, each at its own positions. Raises RuntimeError for the cubic mode."""
    if interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    options = Options(interpolation_mode, padding_mode, align_corners)
    _check(input, grid, 3, options)
    return sampled(input, grid, options)


@compiled
def grid_sampler_backward(
    grad_output: Operand,
    input: Operand,
    grid: Operand,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Operand | None, Operand | None]:
    """Return the gradients of images or volumes, and of positions. Raises RuntimeError for sizes that do not fit."""
    options = Options(interpolation_mode, padding_mode, align_corners)
    _check(input, grid, 3 if input.ndim == 5 else 2, options)
    wanted, found = [*input.shape[:2], *grid.shape[1:-1]], grad_output.shape
    if len(found) != len(wanted) or not all(holds(a == b) for a, b in zip(found, wanted, strict=True)):
        raise RuntimeError(f"grad_output must have shape {wanted}, but has {list(found)}")
    return gradients.grid_sampler_backward(
        grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask
    )


def _check(input: Operand, grid: Operand, ndim: int, options: Options) -> None:
    if options.mode not in (0, 1, 2) or options.padding not in (0, 1, 2):
        raise RuntimeError(
            "grid_sampler(): expected an interpolation_mode and a padding_mode from 0 to 2, "
            f"but got {options.mode} and {options.padding}"
        )
    sizes = f"an input of size {list(input.shape)} and a grid of size {list(grid.shape)}"
    if input.ndim != ndim + 2 or grid.ndim != ndim + 2 or not holds(input.shape[0] == grid.shape[0]):
        raise RuntimeError(f"grid_sampler(): expected (N, C, *sizes) and (N, *places, {ndim}), but got {sizes}")
    if not holds(grid.shape[-1] == ndim):
        raise RuntimeError(f"grid_sampler(): expected {ndim} numbers for each place, but got {sizes}")
    if layouts.is_empty(tuple(input.shape[2:])):
        raise RuntimeError(f"grid_sampler(): expected images that are not empty, but got {sizes}")
    if input.dtype != grid.dtype:
        raise RuntimeError(f"grid_sampler(): expected one dtype, but got {input.dtype} and a grid of {grid.dtype}")
    if not input.is_floating_point():
        raise NotImplementedError(f"grid_sampler(): not implemented for {input.dtype}")


def affine_grid_generator(theta: Operand, size: Sequence[int], align_corners: bool) -> Operand:
    """Return (N, *sizes, d): where each element of images (N, C, *sizes) lies under the maps (N, d, d + 1)."""
    aten: Any = opwright.ops.aten
    base = _base(theta, size, align_corners)
    rows = aten.reshape(base, [1, *_flat(size), base.shape[-1]])
    positions = aten.bmm(aten.expand(rows, [size[0], *rows.shape[1:]]), aten.transpose(theta, 1, 2))
    return without_base(aten.reshape(positions, [size[0], *size[2:], len(size) - 2]))


def affine_grid_generator_backward(grad: Operand, size: Sequence[int], align_corners: bool) -> Operand:
    """Return the gradient of the maps from that of positions."""
    aten: Any = opwright.ops.aten
    base = _base(grad, size, align_corners)
    rows = aten.reshape(base, [1, *_flat(size), base.shape[-1]])
    positions = aten.reshape(grad, [size[0], *_flat(size), len(size) - 2])
    found = aten.bmm(aten.transpose(aten.expand(rows, [size[0], *rows.shape[1:]]), 1, 2), positions)
    return aten.transpose(found, 1, 2)


def _flat(size: Sequence[int]) -> list[int]:
    count = 1
    for each in size[2:]:
        count = count * each
    return [count]


def _base(like: Operand, size: Sequence[int], align_corners: bool) -> Operand:
    """Return (*sizes, d + 1): the position of each element, the last dimension's number first, and a 1."""
    aten: Any = opwright.ops.aten
    if len(size) not in (4, 5):
        raise RuntimeError(f"affine_grid_generator(): expected a size (N, C, *sizes) of 4 or 5 ints, but got {size}")
    sizes = list(size[2:])
    if any(not holds(each >= 0) for each in sizes):
        raise RuntimeError(f"affine_grid_generator(): expected no negative size, but got {size}")
    exact = aten.new_empty(like, [0], dtype=opmath(as_dtype(like.dtype)))  # autocast casts no float32
    columns = []
    for dim in reversed(range(len(sizes))):
        shape = [1] * len(sizes)
        shape[dim] = sizes[dim]
        columns.append(aten.expand(aten.reshape(_steps(exact, sizes[dim], align_corners), shape), sizes))
    return aten.to(aten.stack([*columns, aten.new_ones(exact, sizes)], -1), as_dtype(like.dtype))


def _steps(like: Operand, size: int, align_corners: bool) -> Operand:
    """Return numbers from -1 to 1; the centres of as many parts, unless the corners are aligned."""
    aten: Any = opwright.ops.aten
    if holds(size <= 1):
        return aten.new_zeros(like, [size])
    numbers = aten.linspace(-1, 1, size, dtype=like.dtype, device=like.device)
    return numbers if align_corners else numbers * ((size - 1) / size)
