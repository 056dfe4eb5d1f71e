"""Discrete Fourier transforms as users name them: lengths, dimensions and norms made those of the operators below.

What is asked of sizes is asked here, so that errors speak of the user's arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, as_dtype, float32, float64, get_default_dtype, to_complex
from opwright_core.arrays.sizes import guard_or_false, holds

Operand = Any  # a Tensor
aten = opwright.ops.aten
Sizes = Sequence[int] | None

# One dimension


def fft_fft(self: Operand, n: int | None, dim: int, norm: str | None) -> Operand:
    """Return the transform along `dim` of `n` elements, cut off or filled up with zeros."""
    return _from_any("fft", self, n, dim, norm, True)


def fft_ifft(self: Operand, n: int | None, dim: int, norm: str | None) -> Operand:
    """Return the inverse transform along `dim` of `n` elements."""
    return _from_any("ifft", self, n, dim, norm, False)


def fft_rfft(self: Operand, n: int | None, dim: int, norm: str | None) -> Operand:
    """Return the first half of the transform along `dim` of `n` real elements."""
    return _from_real("rfft", self, n, dim, norm, True, True)


def fft_ihfft(self: Operand, n: int | None, dim: int, norm: str | None) -> Operand:
    """Return the first half of the inverse transform along `dim` of `n` real elements."""
    return _from_real("ihfft", self, n, dim, norm, False, True)


def fft_irfft(self: Operand, n: int | None, dim: int, norm: str | None) -> Operand:
    """Return `n` real elements along `dim` from half of their transform."""
    return _to_real("irfft", self, n, dim, norm, False)


def fft_hfft(self: Operand, n: int | None, dim: int, norm: str | None) -> Operand:
    """Return the real transform along `dim` of `n` elements, of which half are given, the others conjugates."""
    return _to_real("hfft", self, n, dim, norm, True)


def _from_any(name: str, self: Operand, n: int | None, dim: int, norm: str | None, forward: bool) -> Operand:
    if as_dtype(self.dtype) not in COMPLEX:
        return _from_real(name, self, n, dim, norm, forward, False)
    axis = _axis(self, dim)
    _length(self.shape[axis] if n is None else n)
    resized = self if n is None else _resized(self, [axis], [n])
    return aten._fft_c2c(resized, [axis], _normalization(norm, forward), forward)


def _from_real(
    name: str, self: Operand, n: int | None, dim: int, norm: str | None, forward: bool, onesided: bool
) -> Operand:
    if as_dtype(self.dtype) in COMPLEX:
        raise RuntimeError(f"{name} expects a real input tensor, but got {as_dtype(self.dtype)}")
    value, axis = _promoted(self, False), _axis(self, dim)
    _length(value.shape[axis] if n is None else n)
    resized = value if n is None else _resized(value, [axis], [n])
    found = aten._fft_r2c(resized, [axis], _normalization(norm, forward), onesided)
    return found if forward else aten.conj(found)


def _to_real(name: str, self: Operand, n: int | None, dim: int, norm: str | None, forward: bool) -> Operand:
    value, axis = _promoted(self, True), _axis(self, dim)
    length = _length(2 * (value.shape[axis] - 1) if n is None else n)
    resized = value if n is None else _resized(value, [axis], [length // 2 + 1])
    given = aten.conj(resized) if forward else resized
    return aten._fft_c2r(given, [axis], _normalization(norm, forward), length)


# Any number of dimensions


def fft_fftn(self: Operand, s: Sizes, dim: Sizes, norm: str | None) -> Operand:
    """Return the transform over `dim`, of `s` elements along each."""
    return _from_complex(self, s, dim, norm, True)


def fft_ifftn(self: Operand, s: Sizes, dim: Sizes, norm: str | None) -> Operand:
    """Return the inverse transform over `dim`, of `s` elements along each."""
    return _from_complex(self, s, dim, norm, False)


def _from_complex(self: Operand, s: Sizes, dim: Sizes, norm: str | None, forward: bool) -> Operand:
    sizes, axes = _sizes_and_axes(self, s, dim)
    value = _resized(_promoted(self, True), axes, sizes)
    return aten._fft_c2c(value, axes, _normalization(norm, forward), forward)


def fft_rfftn(self: Operand, s: Sizes, dim: Sizes, norm: str | None) -> Operand:
    """Return the transform over `dim` of real elements: along the last of them, its first half."""
    value, axes = _real_and_axes("rfftn", self, s, dim)
    return aten._fft_r2c(value, axes, _normalization(norm, True), True)


def fft_ihfftn(self: Operand, s: Sizes, dim: Sizes, norm: str | None) -> Operand:
    """Return the inverse transform over `dim` of real elements: along the last of them, its first half."""
    value, axes = _real_and_axes("ihfftn", self, s, dim)
    mode = _normalization(norm, False)
    found = aten.conj(aten._fft_r2c(value, axes[-1:], mode, True))
    return aten._fft_c2c(found, axes[:-1], mode, False) if len(axes) > 1 else found


def _real_and_axes(name: str, self: Operand, s: Sizes, dim: Sizes) -> tuple[Operand, list[int]]:
    if as_dtype(self.dtype) in COMPLEX:
        raise RuntimeError(f"{name} expects a real-valued input tensor, but got {as_dtype(self.dtype)}")
    sizes, axes = _sizes_and_axes(self, s, dim)
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    return _resized(_promoted(self, False), axes, sizes), axes


def fft_irfftn(self: Operand, s: Sizes, dim: Sizes, norm: str | None) -> Operand:
    """Return the real elements over `dim` from their transform, of which half is given along the last."""
    value, axes, length = _half_and_axes("irfftn", self, s, dim)
    return aten._fft_c2r(value, axes, _normalization(norm, False), length)


def fft_hfftn(self: Operand, s: Sizes, dim: Sizes, norm: str | None) -> Operand:
    """Return the real transform over `dim` of elements of which half are given along the last, the others
    conjugates."""
    value, axes, length = _half_and_axes("hfftn", self, s, dim)
    mode = _normalization(norm, True)
    if len(axes) > 1:
        value = aten._fft_c2c(value, axes[:-1], mode, True)
    return aten._fft_c2r(aten.conj(value), axes[-1:], mode, length)


def _half_and_axes(name: str, self: Operand, s: Sizes, dim: Sizes) -> tuple[Operand, list[int], int]:
    sizes, axes = _sizes_and_axes(self, s, dim)
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    is_given = s is not None and s[-1] != -1
    length = _length(sizes[-1] if is_given else 2 * (self.shape[axes[-1]] - 1))
    return _resized(_promoted(self, True), axes, [*sizes[:-1], length // 2 + 1]), axes, length


# Frequencies


def fft_fftfreq(n: int, d: float, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Operand:
    """Return the frequencies of a transform of `n` elements that are `d` apart, the negative ones behind."""
    bins = aten.arange(n, dtype=_frequencies(dtype), device=device)
    return aten.mul(aten.where.self(bins < (n + 1) // 2, bins, bins - n), 1.0 / (n * d))


def fft_rfftfreq(n: int, d: float, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Operand:
    """Return the frequencies of the first half of a transform of `n` elements that are `d` apart."""
    return aten.mul(aten.arange(n // 2 + 1, dtype=_frequencies(dtype), device=device), 1.0 / (n * d))


def _frequencies(dtype: Any) -> Any:
    found = get_default_dtype() if dtype is None else as_dtype(dtype)
    if found not in FLOATING and found not in COMPLEX:
        raise RuntimeError(f"fftfreq requires a floating point or complex dtype, but got {found}")
    return found


def fft_fftshift(self: Operand, dim: Sizes) -> Operand:
    """Return the elements with the frequency 0 in the middle of `dim`, of all dimensions where that is None."""
    return _shifted(self, dim, 0)


def fft_ifftshift(self: Operand, dim: Sizes) -> Operand:
    """Return the elements with the frequency 0 back at the front of `dim`."""
    return _shifted(self, dim, 1)


def _shifted(self: Operand, dim: Sizes, more: int) -> Operand:
    dims = list(range(self.ndim)) if dim is None else [layouts.wrap_dim(each, self.ndim) for each in dim]
    return aten.roll(self, [(self.shape[each] + more) // 2 for each in dims], dims) if dims else aten.clone(self)


# Arguments


def _normalization(norm: str | None, forward: bool) -> int:
    """Return 0 for no division, 1 for the root of the number of elements, 2 for the number."""
    match norm:
        case None | "backward":
            return 0 if forward else 2
        case "forward":
            return 2 if forward else 0
        case "ortho":
            return 1
    raise RuntimeError(f'Invalid normalization mode: "{norm}"; expected "backward", "ortho" or "forward"')


def _promoted(self: Operand, to_complex_one: bool) -> Operand:
    """Return integers as floating-point numbers, and real numbers as complex ones where that is asked."""
    given = as_dtype(self.dtype)
    if given in COMPLEX:
        return self
    dtype = given if given in FLOATING else get_default_dtype()
    if dtype not in (float32, float64):
        raise RuntimeError(f"Unsupported dtype {dtype}: transforms are of single and double precision")
    if to_complex_one:
        return self.to(to_complex(dtype))
    return self if given is dtype else self.to(dtype)


def _axis(self: Operand, dim: int) -> int:
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return layouts.wrap_dim(dim, self.ndim)


def _length(n: int) -> int:
    if not holds(n >= 1):
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _resized(self: Operand, axes: Sequence[int], sizes: Sequence[int]) -> Operand:
    """Return `self` with sizes of its own at some positions: cut off, or filled up with zeros."""
    pads = [0] * (2 * self.ndim)
    for axis, size in zip(axes, sizes, strict=True):
        given = self.shape[axis]
        if guard_or_false(given > size):
            self = aten.narrow(self, axis, 0, size)
        elif not guard_or_false(given == size):
            pads[2 * (self.ndim - 1 - axis) + 1] = size - given
    return aten.constant_pad_nd(self, pads) if any(type(pad) is not int or pad for pad in pads) else self


def _sizes_and_axes(self: Operand, s: Sizes, dim: Sizes) -> tuple[list[int], list[int]]:
    """Return sizes and dimensions of a transform of several: the last ones for sizes alone, all for neither."""
    axes = None if dim is None else [_axis(self, each) for each in dim]
    if axes is not None and len(set(axes)) != len(axes):
        raise RuntimeError("FFT dims must be unique")
    if s is not None:
        if axes is not None and len(axes) != len(s):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(s) > self.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {self.ndim} dimensions.")
    if axes is None:
        axes = list(range(self.ndim - (self.ndim if s is None else len(s)), self.ndim))
    given = [-1] * len(axes) if s is None else s
    sizes = [
        _length(self.shape[axis] if type(size) is int and size == -1 else size)
        for axis, size in zip(axes, given, strict=True)
    ]
    return sizes, axes
