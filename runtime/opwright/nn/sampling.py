"""Images sampled at a grid of positions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import opwright
from opwright.nn.annotations import A

__all__ = ["affine_grid", "grid_sample"]

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def grid_sample(
    input: A, grid: A, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> A:
    """Return images (N, C, H, W), or volumes, at positions (N, h, w, 2): width, then height, from -1 to 1.

    Raises ValueError for an unknown mode.
    """
    for name, given, known in (("mode", mode, _MODES), ("padding_mode", padding_mode, _PADDINGS)):
        if given not in known:
            raise ValueError(f"grid_sample(): expected {name} to be one of {', '.join(known)}, but got {given!r}")
    return opwright.grid_sampler(
        input, grid, _MODES.index(mode), _PADDINGS.index(padding_mode), _aligned("grid_sample", align_corners)
    )


def affine_grid(theta: A, size: Sequence[int], align_corners: bool | None = None) -> A:
    """Return the positions of the elements of images of `size` (N, C, H, W), or volumes, under the maps `theta`
    (N, 2, 3).

    Raises ValueError if the sizes do not fit, NotImplementedError if there are not 4 or 5 sizes.
    """
    aligned = _aligned("affine_grid", align_corners)
    if not opwright.is_floating_point(theta):
        raise ValueError(f"affine_grid(): expected theta to be floating-point, but it is {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(f"affine_grid(): expected a size of 4 or 5 ints, but got {list(size)}")
    ndim = len(size) - 2
    if len(theta.shape) != 3 or tuple(theta.shape[-2:]) != (ndim, ndim + 1):
        raise ValueError(
            f"affine_grid(): expected theta of size (N, {ndim}, {ndim + 1}) for a size of {ndim + 2} ints, but it is "
            f"{list(theta.shape)}"
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid(): expected sizes above 0, but got {list(size)}")
    return opwright.affine_grid_generator(theta, size, aligned)


def _aligned(name: str, align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            f"Default {name} behavior is align_corners=False: the outermost elements' outer edges are at -1 and 1. "
            "Say which is meant.",
            stacklevel=3,
        )
    return bool(align_corners)
