"""The difference between results of ours and of PyTorch: the first one, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from opwright_bindings.torch.runtime.calls import theirs_of

__all__ = ["difference"]


@dataclass(frozen=True)
class _Kept:
    """The choice of what is to be equal beside shapes and dtypes."""

    strides: bool
    values: bool


def difference(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], *, with_strides: bool = True, with_values: bool = True
) -> str | None:
    """Return what is different between values of the same names, None where nothing is.

    Tensors are to have the same shape and dtype, `with_strides` the same strides of dimensions longer than 1, and
    `with_values` the same numbers; NaNs are equal. `ours` may be values of PyTorch, too.
    """
    kept = _Kept(with_strides, with_values)
    found = (_between(ours[name], theirs[name], name, kept) for name in ours)
    return next(filter(None, found), None)


def _between(ours: Any, theirs: Any, what: str, kept: _Kept) -> str | None:
    ours = theirs_of(ours)
    if isinstance(ours, torch.Tensor):
        if not isinstance(theirs, torch.Tensor):
            return f"{what} is a Tensor, and PyTorch's {type(theirs).__name__}"
        return _between_tensors(_plain(ours), _plain(theirs), what, kept)
    if isinstance(ours, list | tuple):
        if not isinstance(theirs, list | tuple) or len(ours) != len(theirs):
            return f"{what} has {len(ours)} parts, and PyTorch's are {theirs!r}"
        parts = enumerate(zip(ours, theirs, strict=True))
        return next(filter(None, (_between(a, b, f"{what}[{at}]", kept) for at, (a, b) in parts)), None)
    is_equal = ours == theirs or (ours != ours and theirs != theirs) or not kept.values
    return None if is_equal else f"{what} is {ours!r}, and PyTorch's {theirs!r}"


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor whose memory has its values."""
    return tensor.detach().resolve_conj().resolve_neg()


def _between_tensors(ours: torch.Tensor, theirs: torch.Tensor, what: str, kept: _Kept) -> str | None:
    for name in ("layout", "shape", "dtype"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        if found != expected:
            return f"{what} has {name} {found}, and PyTorch's {expected}"
    longer = (
        [position for position, size in enumerate(theirs.shape) if size > 1] if theirs.numel() and kept.strides else ()
    )
    if any(ours.stride(position) != theirs.stride(position) for position in longer):
        return f"{what} has strides {ours.stride()}, and PyTorch's {theirs.stride()}"
    if not kept.values or np.array_equal(_array(ours), _array(theirs), equal_nan=True):
        return None
    first = [tensor.flatten()[:5].tolist() for tensor in (ours, theirs)]
    return f"{what} has other values than PyTorch's: {first[0]} and {first[1]} at first"


def _array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    is_exact = tensor.is_complex() or not tensor.is_floating_point()
    array: np.ndarray[Any, Any] = (tensor if is_exact else tensor.double()).numpy()
    return array
