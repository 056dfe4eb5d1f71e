"""The extension `fft` of the standard: discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import opwright
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import DType
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip

Norm: TypeAlias = Literal["backward", "ortho", "forward"]


def _along_axis(name: str, operator: Callable[..., Any], doc: str) -> Any:
    """Return the function of one axis that calls an operator."""

    def function(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
        return operator(x, n, axis, norm)  # type: ignore[no-any-return]

    return _named(function, name, f"Return {doc}, of `n` elements along `axis`.")


def _over_axes(name: str, operator: Callable[..., Any], doc: str) -> Any:
    """Return the function of several axes that calls an operator."""

    def function(
        x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
    ) -> Tensor:
        return operator(x, s, axes, norm)  # type: ignore[no-any-return]

    return _named(function, name, f"Return {doc}, of `s` elements along `axes`, all of them unless told otherwise.")


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


fft = _along_axis("fft", opwright.fft_fft, "the transforms")
ifft = _along_axis("ifft", opwright.fft_ifft, "the inverse transforms")
rfft = _along_axis("rfft", opwright.fft_rfft, "the first halves of the transforms of real numbers")
irfft = _along_axis("irfft", opwright.fft_irfft, "the real numbers that have halves of transforms")
hfft = _along_axis("hfft", opwright.fft_hfft, "the real transforms of halves whose others are conjugates")
ihfft = _along_axis("ihfft", opwright.fft_ihfft, "the first halves of the inverse transforms of real numbers")
fftn = _over_axes("fftn", opwright.fft_fftn, "the transforms")
ifftn = _over_axes("ifftn", opwright.fft_ifftn, "the inverse transforms")
rfftn = _over_axes("rfftn", opwright.fft_rfftn, "the first halves of the transforms of real numbers")
irfftn = _over_axes("irfftn", opwright.fft_irfftn, "the real numbers that have halves of transforms")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """Return the frequencies of a transform of `n` elements that are `d` apart, the negative ones behind."""
    return opwright.fft_fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """Return the frequencies of the first half of a transform of `n` elements that are `d` apart."""
    return opwright.fft_rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return the elements with the frequency 0 in the middle of `axes`, of all axes where that is None."""
    return opwright.fft_fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return the elements with the frequency 0 back at the front of `axes`."""
    return opwright.fft_ifftshift(x, axes)
