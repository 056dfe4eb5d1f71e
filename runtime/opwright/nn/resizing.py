"""Images resized."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from opwright.namespaces import aten
from opwright.nn.annotations import A

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

# The operators for 1, 2 and 3 spatial dimensions. Operators with weights take `align_corners`.
_PICKING = {
    "nearest": ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
    "nearest-exact": ("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"),
    "area": ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"),
}
_WEIGHING = {
    "linear": (1, "upsample_linear1d"),
    "bilinear": (2, "upsample_bilinear2d"),
    "bicubic": (2, "upsample_bicubic2d"),
    "trilinear": (3, "upsample_trilinear3d"),
}


def interpolate(
    input: A,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> A:
    """Return a batch of signals, images or volumes, resized to `size` or by `scale_factor`.

    `mode` is "nearest", "nearest-exact", "area", "linear", "bilinear", "bicubic" or "trilinear". `antialias` averages
    over larger windows when an image shrinks, for "bilinear" and "bicubic".

    Raises ValueError for contradicting arguments, NotImplementedError if the mode does not fit the dimensions.
    """
    ndim = len(input.shape) - 2
    if align_corners is not None and mode in _PICKING:
        raise ValueError("align_corners is for the modes linear, bilinear, bicubic and trilinear alone")
    sizes, factors = _extent(list(input.shape[2:]), size, scale_factor, recompute_scale_factor or False, mode)
    if antialias and (mode not in ("bilinear", "bicubic") or ndim != 2):
        raise ValueError("antialias is for the modes bilinear and bicubic of 4-D input alone")
    if mode in _PICKING and 1 <= ndim <= 3:
        name = _PICKING[mode][ndim - 1]
        picked: A = aten[name](input, sizes) if mode == "area" else aten[f"{name}.vec"](input, sizes, factors)
        return picked
    dims, name = (2, f"_upsample_{mode}2d_aa") if antialias else _WEIGHING.get(mode, (0, ""))
    if dims != ndim or not name:
        raise NotImplementedError(f"interpolate: mode {mode!r} does not take {ndim + 2}-D input")
    weighed: A = aten[f"{name}.vec"](input, sizes, bool(align_corners), factors)
    return weighed


def _extent(
    shape: list[int], size: Any, factor: Any, recompute: bool, mode: str
) -> tuple[list[int] | None, list[float] | None]:
    """Return the sizes of the output, or the factors, one for each spatial dimension."""
    if (size is None) == (factor is None):
        raise ValueError("exactly one of size and scale_factor must be given")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return _for_each(shape, "size", size), None
    factors = _for_each(shape, "scale_factor", float(factor) if type(factor) is int and abs(factor) < 1e9 else factor)
    if recompute or mode == "area":
        return [math.floor(have * by) for have, by in zip(shape, factors, strict=True)], None
    return None, factors


def _for_each(shape: list[int], name: str, given: Any) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        return [given] * len(shape)
    if len(given) != len(shape):
        raise ValueError(f"{name} {list(given)} must have one entry for each of the {len(shape)} dimensions of space")
    return list(given)


def upsample(
    input: A,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> A:
    """Call `interpolate` by its deprecated name."""
    _warn("upsample", "interpolate")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: A, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> A:
    """Call `interpolate` with the mode "nearest"; deprecated."""
    _warn("upsample_nearest", "interpolate")
    return interpolate(input, size, scale_factor)


def upsample_bilinear(
    input: A, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> A:
    """Call `interpolate` with the mode "bilinear" and aligned corners; deprecated."""
    _warn("upsample_bilinear", "interpolate")
    return interpolate(input, size, scale_factor, "bilinear", True)


def _warn(name: str, instead: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.{instead}` instead.", stacklevel=3)
