"""Discrete Fourier transforms, by those of the array module; the rules have checked dimensions and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import to_complex

Array = Any
# What NumPy calls a division by nothing, the root of the number of elements, and the number: there it depends on the
# direction.
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")
# NumPy's transforms of one dimension, as ufuncs; what is around them there takes longer than a short transform.
_UFUNCS: Any = getattr(getattr(np.fft, "_pocketfft", None), "pfu", None)


def transform_complex(xp: ModuleType, self: Array, dim: Sequence[int], normalization: int, forward: bool) -> Array:
    """Return the transforms over `dim` of complex numbers, or the inverse ones."""
    if not dim:
        return self.copy()
    if _is_direct(xp, self, normalization):
        return _each(_UFUNCS.fft if forward else _UFUNCS.ifft, self, reversed(dim), normalization)
    if forward:
        return xp.fft.fftn(self, axes=tuple(dim), norm=_FORWARD[normalization])
    return xp.fft.ifftn(self, axes=tuple(dim), norm=_INVERSE[normalization])


def transform_real(xp: ModuleType, self: Array, dim: Sequence[int], normalization: int, onesided: bool) -> Array:
    """Return the transforms over `dim` of real numbers: the first half along the last of them where `onesided`."""
    if _is_direct(xp, self, normalization):
        size, kind = self.shape[dim[-1]], to_complex(self.dtype)
        halves = _UFUNCS.rfft_n_odd if size % 2 else _UFUNCS.rfft_n_even
        first, left = (halves, size // 2 + 1) if onesided else (_UFUNCS.fft, size)
        return _each(
            _UFUNCS.fft, _along(first, self, dim[-1], size, normalization, left, kind), dim[-2::-1], normalization
        )
    transform = xp.fft.rfftn if onesided else xp.fft.fftn
    return transform(self, axes=tuple(dim), norm=_FORWARD[normalization])


def transform_to_real(xp: ModuleType, self: Array, dim: Sequence[int], normalization: int, last_dim_size: int) -> Array:
    """Return the real numbers, `last_dim_size` of them along the last of `dim`, whose transforms `self` is half of."""
    if _is_direct(xp, self, normalization) and last_dim_size > 0:
        halves = _each(_UFUNCS.ifft, self, dim[:-1], normalization)
        kind = self.real.dtype
        return _along(_UFUNCS.irfft, halves, dim[-1], last_dim_size, normalization, last_dim_size, kind)
    sizes = [*(self.shape[each] for each in dim[:-1]), last_dim_size]
    return xp.fft.irfftn(self, s=sizes, axes=tuple(dim), norm=_INVERSE[normalization])


def _is_direct(xp: ModuleType, self: Array, normalization: int) -> bool:
    return xp is np and _UFUNCS is not None and self.size > 0 and 0 <= normalization <= 2


def _each(ufunc: Any, self: Array, dims: Any, normalization: int) -> Array:
    """Return what transforms along one dimension after the other give."""
    for dim in dims:
        size = self.shape[dim]
        self = _along(ufunc, self, dim, size, normalization, size, self.dtype)
    return self


def _along(ufunc: Any, self: Array, dim: int, size: int, normalization: int, left: int, dtype: Any) -> Array:
    """Return transforms of `size` elements along one dimension: the `left` that there are then, of a dtype."""
    dim %= self.ndim
    result = np.empty((*self.shape[:dim], left, *self.shape[dim + 1 :]), dtype)
    factor: Any = 1
    if normalization:
        real = self.real.dtype
        factor = np.reciprocal(np.sqrt(size, dtype=real) if normalization == 1 else real.type(size))
    if dim == self.ndim - 1:
        return ufunc(self, factor, result)
    return ufunc(self, factor, result, axes=[(dim,), (), (dim,)])
