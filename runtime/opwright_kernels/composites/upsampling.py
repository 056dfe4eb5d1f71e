"""Images of another size, which is given as such or by factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opwright.namespaces import aten
from opwright_core.arrays.sizes import sym_int

Operand = Any
Sizes = Sequence[int]
Scales = Sequence[float]


def _size_and_scales(
    input: Operand, ndim: int, output_size: Sizes | None, scale_factors: Scales | None
) -> tuple[list[int], list[float | None]]:
    """Return the size of the result, and the factors that were given."""
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    if scale_factors is None:
        return list(output_size or ()), [None] * ndim
    sizes = input.shape[2:]
    if len(scale_factors) != len(sizes):
        raise RuntimeError(f"expected {len(sizes)} scale_factors, but got {list(scale_factors)}")
    for scale in scale_factors:
        if not math.isfinite(scale):
            raise RuntimeError(f"scale_factors must be finite numbers, but got {list(scale_factors)}")
    wanted = [_scaled(size, scale) for size, scale in zip(sizes, scale_factors, strict=True)]
    return wanted, list(scale_factors)


def _scaled(size: int, scale: float) -> int:
    # A whole factor leaves a symbolic size symbolic.
    return size * int(scale) if scale == scale // 1 else sym_int(size * scale)


def upsample_nearest1d(input: Operand, output_size: Sizes | None, scale_factors: Scales | None) -> Operand:
    """Call `upsample_nearest1d` with a size or factors."""
    size, scales = _size_and_scales(input, 1, output_size, scale_factors)
    return aten["upsample_nearest1d.default"](input, size, *scales)


def upsample_nearest2d(input: Operand, output_size: Sizes | None, scale_factors: Scales | None) -> Operand:
    """Call `upsample_nearest2d` with a size or factors."""
    size, scales = _size_and_scales(input, 2, output_size, scale_factors)
    return aten["upsample_nearest2d.default"](input, size, *scales)


def upsample_nearest3d(input: Operand, output_size: Sizes | None, scale_factors: Scales | None) -> Operand:
    """Call `upsample_nearest3d` with a size or factors."""
    size, scales = _size_and_scales(input, 3, output_size, scale_factors)
    return aten["upsample_nearest3d.default"](input, size, *scales)


def _upsample_nearest_exact1d(input: Operand, output_size: Sizes | None, scale_factors: Scales | None) -> Operand:
    """Call `_upsample_nearest_exact1d` with a size or factors."""
    size, scales = _size_and_scales(input, 1, output_size, scale_factors)
    return aten["_upsample_nearest_exact1d.default"](input, size, *scales)


def _upsample_nearest_exact2d(input: Operand, output_size: Sizes | None, scale_factors: Scales | None) -> Operand:
    """Call `_upsample_nearest_exact2d` with a size or factors."""
    size, scales = _size_and_scales(input, 2, output_size, scale_factors)
    return aten["_upsample_nearest_exact2d.default"](input, size, *scales)


def _upsample_nearest_exact3d(input: Operand, output_size: Sizes | None, scale_factors: Scales | None) -> Operand:
    """Call `_upsample_nearest_exact3d` with a size or factors."""
    size, scales = _size_and_scales(input, 3, output_size, scale_factors)
    return aten["_upsample_nearest_exact3d.default"](input, size, *scales)


def upsample_linear1d(
    input: Operand, output_size: Sizes | None, align_corners: bool, scale_factors: Scales | None
) -> Operand:
    """Call `upsample_linear1d` with a size or factors."""
    size, scales = _size_and_scales(input, 1, output_size, scale_factors)
    return aten["upsample_linear1d.default"](input, size, align_corners, *scales)


def upsample_bilinear2d(
    input: Operand, output_size: Sizes | None, align_corners: bool, scale_factors: Scales | None
) -> Operand:
    """Call `upsample_bilinear2d` with a size or factors."""
    size, scales = _size_and_scales(input, 2, output_size, scale_factors)
    return aten["upsample_bilinear2d.default"](input, size, align_corners, *scales)


def upsample_trilinear3d(
    input: Operand, output_size: Sizes | None, align_corners: bool, scale_factors: Scales | None
) -> Operand:
    """Call `upsample_trilinear3d` with a size or factors."""
    size, scales = _size_and_scales(input, 3, output_size, scale_factors)
    return aten["upsample_trilinear3d.default"](input, size, align_corners, *scales)


def upsample_bicubic2d(
    input: Operand, output_size: Sizes | None, align_corners: bool, scale_factors: Scales | None
) -> Operand:
    """Call `upsample_bicubic2d` with a size or factors."""
    size, scales = _size_and_scales(input, 2, output_size, scale_factors)
    return aten["upsample_bicubic2d.default"](input, size, align_corners, *scales)


def _upsample_bilinear2d_aa(
    input: Operand, output_size: Sizes | None, align_corners: bool, scale_factors: Scales | None
) -> Operand:
    """Call `_upsample_bilinear2d_aa` with a size or factors."""
    size, scales = _size_and_scales(input, 2, output_size, scale_factors)
    return aten["_upsample_bilinear2d_aa.default"](input, size, align_corners, *scales)


def _upsample_bicubic2d_aa(
    input: Operand, output_size: Sizes | None, align_corners: bool, scale_factors: Scales | None
) -> Operand:
    """Call `_upsample_bicubic2d_aa` with a size or factors."""
    size, scales = _size_and_scales(input, 2, output_size, scale_factors)
    return aten["_upsample_bicubic2d_aa.default"](input, size, align_corners, *scales)
