"""Windows of `M` points, by the names that `torch.signal.windows` has.

`sym` says whether the last point mirrors the first one, for filters; without it the window is one period, for spectra.
The result is of `dtype`, float32 or float64. All raise ValueError for a negative `M` and for another dtype.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import pi, sqrt
from typing import Any

import opwright
from opwright.facade import missing_from
from opwright_core.arrays.dtypes import DType, as_dtype, float32, float64, get_default_dtype
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, **options: Any
) -> Tensor:
    """Return exp(-|n - center| / tau); `center` is the middle unless another is given, which needs `sym=False`
    (ValueError)."""
    kept = _checked("exponential", M, dtype)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = _period(M, sym) / 2 if center is None else center
    return _asked(opwright.exp(-opwright.abs(_points(M, -middle / tau, 1 / tau, kept, options))), options)


def cosine(M: int, *, sym: bool = True, dtype: Any = None, **options: Any) -> Tensor:
    """Return sin(pi (n + 1/2) / M)."""
    kept = _checked("cosine", M, dtype)
    step = pi / (M + 1 if not sym and M > 1 else max(M, 1))
    return _asked(opwright.sin(_points(M, step / 2, step, kept, options)), options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, **options: Any) -> Tensor:
    """Return the bell curve of standard deviation `std`, 1 in the middle; ValueError is raised for a `std` of 0."""
    kept = _checked("gaussian", M, dtype)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    step = 1 / (std * sqrt(2))
    positions = _points(M, -_period(M, sym) / 2 * step, step, kept, options)
    return _asked(opwright.exp(-(positions * positions)), options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, **options: Any) -> Tensor:
    """Return I0(beta sqrt(1 - x^2)) / I0(beta) for x from -1 to 1, with the modified Bessel function; a negative
    beta raises ValueError."""
    kept = _checked("kaiser", M, dtype)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M == 1:
        return _ones(kept, options)
    limit = float(kept.type(beta))
    positions = _points(M, -limit, 2 * limit / max(_period(M, sym), 1), kept, options, limit)
    whole = opwright.full([], limit, dtype=kept, device=options.get("device"))
    return _asked(opwright.i0(opwright.sqrt(whole * whole - positions * positions)) / opwright.i0(whole), options)


def hamming(M: int, *, sym: bool = True, dtype: Any = None, **options: Any) -> Tensor:
    """Return 0.54 - 0.46 cos(2 pi x)."""
    return general_hamming(M, sym=sym, dtype=dtype, **options)


def hann(M: int, *, sym: bool = True, dtype: Any = None, **options: Any) -> Tensor:
    """Return 1/2 - 1/2 cos(2 pi x)."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, **options)


def blackman(M: int, *, sym: bool = True, dtype: Any = None, **options: Any) -> Tensor:
    """Return 0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x)."""
    return _general_cosine("blackman", M, (0.42, 0.5, 0.08), sym, dtype, options)


def bartlett(M: int, *, sym: bool = True, dtype: Any = None, **options: Any) -> Tensor:
    """Return a triangle from 0 to 1 and back."""
    kept = _checked("bartlett", M, dtype)
    if M == 1:
        return _ones(kept, options)
    return _asked(1 - opwright.abs(_points(M, -1.0, 2 / max(_period(M, sym), 1), kept, options)), options)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, **options: Any) -> Tensor:
    """Return the sum of a[i] cos(2 pi i x), with alternating signs. Raises ValueError for no coefficients."""
    return _general_cosine("general_cosine", M, a, sym, dtype, options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, **options: Any) -> Tensor:
    """Return alpha - (1 - alpha) cos(2 pi x)."""
    return _general_cosine("general_hamming", M, (alpha, 1.0 - alpha), sym, dtype, options)


def nuttall(M: int, *, sym: bool = True, dtype: Any = None, **options: Any) -> Tensor:
    """Return the sum of four cosines whose side lobes are low."""
    return _general_cosine("nuttall", M, (0.3635819, 0.4891775, 0.1365995, 0.0106411), sym, dtype, options)


def _general_cosine(name: str, M: int, a: Iterable[float], sym: bool, dtype: Any, options: dict[str, Any]) -> Tensor:
    kept = _checked(name, M, dtype)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    factors = [(-1) ** position * each for position, each in enumerate(a)]
    if M and not factors:
        raise ValueError("Coefficients cannot be empty")
    if M == 1:
        return _ones(kept, options)
    positions = _points(M, 0.0, 2 * pi / max(_period(M, sym), 1), kept, options)
    device = options.get("device")
    weights = opwright.tensor(factors, dtype=kept, device=device).unsqueeze(-1)
    numbers = opwright.arange(len(factors), dtype=kept, device=device).unsqueeze(-1)
    return _asked((weights * opwright.cos(numbers * positions)).sum(0), options)


def _checked(name: str, M: int, dtype: Any) -> DType:
    """Return the dtype of the window."""
    kept = get_default_dtype() if dtype is None else as_dtype(dtype)
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if kept not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kept}")
    return kept


def _period(M: int, sym: bool) -> int:
    """Return how many steps are from the first point to the last one, or to the first of the next period."""
    return M if not sym and M > 1 else M - 1


def _points(
    M: int, start: float, step: float, dtype: DType, options: dict[str, Any], most: float | None = None
) -> Tensor:
    """Return M positions that are `step` apart; the last one at most `most`."""
    end = start + (M - 1) * step
    last = end if most is None else min(end, most)
    return opwright.linspace(start, last, M, dtype=dtype, **_of_factories(options))


def _ones(dtype: DType, options: dict[str, Any]) -> Tensor:
    return _asked(opwright.ones([1], dtype=dtype, **_of_factories(options)), options)


def _of_factories(options: dict[str, Any]) -> dict[str, Any]:
    if unknown := options.keys() - {"layout", "device", "requires_grad"}:
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
    return {name: options[name] for name in ("layout", "device") if options.get(name) is not None}


def _asked(window: Tensor, options: dict[str, Any]) -> Tensor:
    """Return the window, which requires grad if that is asked for."""
    return window.requires_grad_() if options.get("requires_grad") else window


__getattr__ = missing_from(__name__, __all__)
