"""The settings of PyTorch that programs make for its own kernels: kept and given back, without an effect here."""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Sequence
from typing import Any, Final

import opwright

__all__ = ["ATTENTION", "SETTINGS", "VERSION", "numel"]

VERSION: Final[dict[str, Any]] = {
    "__version__": opwright.__version__, "cuda": None, "debug": False, "git_version": None, "hip": None, "xpu": None,
}  # fmt: skip
_PRECISIONS: Final = ("highest", "high", "medium")
_MODES: Final = ("default", "warn", "error")
_set: dict[str, Any] = {"precision": "highest", "mode": 0, "fills": True}


def get_float32_matmul_precision() -> str:
    """Return the precision that was asked for; products of float32 are in float32 whatever it is."""
    return str(_set["precision"])


def set_float32_matmul_precision(precision: str) -> None:
    """Keep the precision of products: a name of _PRECISIONS. Warn of another name, as PyTorch does."""
    if precision in _PRECISIONS:
        _set["precision"] = precision
    else:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has "
            "no effect.",
            stacklevel=2,
        )


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for algorithms that give the same result each time, which all are here. Raises TypeError."""
    if type(mode) is not bool:
        kind = type(mode).__name__
        raise TypeError(f"use_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {kind}")
    _set["mode"] = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` asked for them."""
    return bool(_set["mode"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether it asked for warnings alone."""
    return bool(_set["mode"] == 1)


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 for warnings, or 2 for errors."""
    return int(_set["mode"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Do as `use_deterministic_algorithms`, by a number or a name. Raises RuntimeError for another one."""
    if debug_mode in _MODES:
        debug_mode = _MODES.index(str(debug_mode))
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1 or 2, or {_MODES}, but got {debug_mode}")
    _set["mode"] = debug_mode


class SDPBackend(enum.Enum):
    """PyTorch's kernels of attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


class sdpa_kernel(contextlib.ContextDecorator):
    """A block that names the kernels of attention that PyTorch may choose; there is one here, MATH.

    Raises AssertionError for anything but an SDPBackend or a list of them, as PyTorch does.
    """

    def __init__(self, backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False) -> None:
        if not isinstance(backends, SDPBackend | list):
            raise AssertionError(f"backends must be an SDPBackend or a list of them, got {type(backends).__name__}")

    def __enter__(self) -> dict[str, Any]:
        return {}

    def __exit__(self, *problem: object) -> None:
        pass


def numel(input: opwright.Tensor) -> int:
    """Return the number of elements of a tensor. Raises TypeError."""
    if not isinstance(input, opwright.Tensor):
        raise TypeError(f"numel(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input.numel()


ATTENTION: Final[dict[str, Any]] = {"SDPBackend": SDPBackend, "sdpa_kernel": sdpa_kernel}
SETTINGS: Final[dict[str, Any]] = {
    each.__name__: each
    for each in (
        are_deterministic_algorithms_enabled, get_deterministic_debug_mode, get_float32_matmul_precision,
        is_deterministic_algorithms_warn_only_enabled, set_deterministic_debug_mode, set_float32_matmul_precision,
        use_deterministic_algorithms,
    )
}  # fmt: skip
