"""Spectra of the windows of a signal, and the signal of such spectra."""

from __future__ import annotations

from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, as_dtype
from opwright_core.arrays.sizes import holds
from opwright_core.keys import FRONT_MODE, META

Operand = Any  # a Tensor
aten = opwright.ops.aten


def stft(
    self: Operand,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Operand | None,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Operand:
    """Return the spectra of windows, which with `center` stand around their positions in a signal that is padded."""
    if as_dtype(self.dtype) not in FLOATING | COMPLEX:
        raise RuntimeError(f"stft: expected a tensor of floating point or complex values, but got {self.dtype}")
    if self.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {self.ndim}D")
    if align_to_window and center:
        raise RuntimeError("stft: align_to_window is only for center=False")
    signals = self if self.ndim == 2 else aten.unsqueeze(self, 0)
    if center:
        around = [n_fft // 2, n_fft // 2]
        signals = aten.squeeze(aten.pad(aten.unsqueeze(signals, 1), around, pad_mode), 1)
    hop, width = _steps("stft", n_fft, hop_length, win_length, window)
    if not holds(signals.shape[-1] >= n_fft):
        raise RuntimeError(f"stft: expected 0 < n_fft <= {signals.shape[-1]}, but got n_fft={n_fft}")
    is_complex = as_dtype(signals.dtype) in COMPLEX or (window is not None and as_dtype(window.dtype) in COMPLEX)
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs")
    if align_to_window:  # the first window begins where the signal does, not the frame around it
        signals = aten.constant_pad_nd(signals, [(n_fft - width) // 2] * 2)
    frames = aten.unfold(signals, -1, n_fft, hop)
    if window is not None or width < n_fft:
        frames = aten.mul(frames, _window(signals, n_fft, width, window))
    half = not is_complex if onesided is None else onesided
    found = _transformed(frames, normalized, half, is_complex)
    spectra = aten.transpose(found, 1, 2)
    spectra = spectra if self.ndim == 2 else aten.squeeze(spectra, 0)
    as_complex = return_complex or (return_complex is None and is_complex)
    return without_base(spectra if as_complex else aten.view_as_real(spectra))


def _transformed(frames: Operand, normalized: bool, half: bool, is_complex: bool) -> Operand:
    last, mode = [frames.ndim - 1], int(normalized)
    if not is_complex:
        return aten._fft_r2c(frames, last, mode, half)
    if half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    return aten._fft_c2c(frames, last, mode, True)


def _steps(
    name: str, n_fft: int, hop_length: int | None, win_length: int | None, window: Operand | None
) -> tuple[int, int]:
    """Return how far apart windows are, and how long. Raises RuntimeError for what does not fit `n_fft`."""
    hop, width = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if not holds(hop > 0):
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not holds(width > 0) or not holds(width <= n_fft):
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and (window.ndim != 1 or window.shape[0] != width):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={width}, but got window with size "
            f"{list(window.shape)}"
        )
    return hop, width


def _window(like: Operand, n_fft: int, width: int, window: Operand | None) -> Operand:
    """Return the window, ones unless it is given, in the middle of `n_fft` elements."""
    values = aten.ones([width], dtype=like.dtype, device=like.device) if window is None else window
    before = (n_fft - width) // 2
    return aten.constant_pad_nd(values, [before, n_fft - width - before]) if width < n_fft else values


def istft(
    self: Operand,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Operand | None,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Operand:
    """Return the signal whose windows have these spectra: their elements added, divided by the windows' squares."""
    if as_dtype(self.dtype) not in COMPLEX:
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft(..., True)")
    if self.ndim not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {self.ndim}")
    if not self.numel():
        raise RuntimeError("istft: expected a tensor with elements")
    hop, width = _steps("istft", n_fft, hop_length, win_length, window)
    spectra = aten.transpose(self if self.ndim == 3 else aten.unsqueeze(self, 0), 1, 2)
    frames = _frames(spectra, n_fft, normalized, onesided, return_complex)
    weights = _window(aten.real(spectra), n_fft, width, window)
    if as_dtype(weights.dtype) in COMPLEX and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    total = _overlapped(aten.mul(frames, weights), hop)
    squares = aten.expand(aten.mul(weights, weights), [1, spectra.shape[1], n_fft])
    envelope = _overlapped(squares, hop)
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else total.shape[-1] - start
    signal, envelope = (aten.slice(each, -1, start, stop) for each in (total, envelope))
    _check_envelope(envelope)
    signal = aten.div(signal, envelope)
    if length is not None and length > signal.shape[-1]:
        signal = aten.constant_pad_nd(signal, [0, length - signal.shape[-1]])
    return signal if self.ndim == 3 else aten.squeeze(signal, 0)


def _frames(spectra: Operand, n_fft: int, normalized: bool, onesided: bool | None, return_complex: bool) -> Operand:
    """Return the windows of spectra, complex ones if that is asked."""
    count = spectra.shape[-1]
    half = count != n_fft if onesided is None else onesided
    if count != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError(f"istft: expected the frequency dimension to match n_fft={n_fft}, but got {count}")
    last, mode = [spectra.ndim - 1], 1 if normalized else 2
    if return_complex:
        if half:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        return aten._fft_c2c(spectra, last, mode, False)
    given = spectra if half else aten.slice(spectra, -1, 0, n_fft // 2 + 1)
    return aten._fft_c2r(given, last, mode, n_fft)


def _check_envelope(envelope: Operand) -> None:
    """Raise RuntimeError where windows leave an element out, as far as there is data to say so."""
    if not envelope.keys & (FRONT_MODE | META) and float(aten.min(aten.abs(envelope))) <= 1e-11:
        raise RuntimeError("istft: windows leave out an element of the signal: their squares add to 0 there")


def _overlapped(frames: Operand, hop: int) -> Operand:
    """Return the frames added, each `hop` elements behind the one before."""
    batch, count, width = frames.shape
    length = width + hop * (count - 1)
    positions = aten.unfold(aten.arange(length, device=frames.device), 0, width, hop)
    zeros = aten.new_zeros(frames, [batch, length])
    return aten.index_add(zeros, 1, aten.reshape(positions, [-1]), aten.reshape(frames, [batch, count * width]))
