"""Discrete Fourier transforms, by those of the array module; the rules have checked dimensions and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

Array = Any
# What NumPy calls a division by nothing, the root of the number of elements, and the number: there it depends on the
# direction.
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")


def transform_complex(xp: ModuleType, self: Array, dim: Sequence[int], normalization: int, forward: bool) -> Array:
    """Return the transforms over `dim` of complex numbers, or the inverse ones."""
    if not dim:
        return self.copy()
    if forward:
        return xp.fft.fftn(self, axes=tuple(dim), norm=_FORWARD[normalization])
    return xp.fft.ifftn(self, axes=tuple(dim), norm=_INVERSE[normalization])


def transform_real(xp: ModuleType, self: Array, dim: Sequence[int], normalization: int, onesided: bool) -> Array:
    """Return the transforms over `dim` of real numbers: the first half along the last of them where `onesided`."""
    transform = xp.fft.rfftn if onesided else xp.fft.fftn
    return transform(self, axes=tuple(dim), norm=_FORWARD[normalization])


def transform_to_real(xp: ModuleType, self: Array, dim: Sequence[int], normalization: int, last_dim_size: int) -> Array:
    """Return the real numbers, `last_dim_size` of them along the last of `dim`, whose transforms `self` is half of."""
    sizes = [*(self.shape[each] for each in dim[:-1]), last_dim_size]
    return xp.fft.irfftn(self, s=sizes, axes=tuple(dim), norm=_INVERSE[normalization])
