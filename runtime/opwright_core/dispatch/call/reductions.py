"""The names of the reductions of losses, and their deprecated flags."""

from __future__ import annotations

import warnings
from typing import Final

__all__ = ["reduction_number"]

_NUMBERS: Final = {"none": 0, "mean": 1, "sum": 2}


def reduction_number(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """Return the number of a reduction: 0 ("none"), 1 ("mean") or 2 ("sum"). Flags that are given override the name.

    Raises ValueError for an unknown name.
    """
    if size_average is not None or reduce is not None:
        reduction = _of_flags(size_average, reduce)
    number = _NUMBERS.get(reduction)
    if number is None:
        raise ValueError(f"{reduction!r} is not a valid value for reduction: it is one of 'none', 'mean' and 'sum'")
    return number


def _of_flags(size_average: bool | None, reduce: bool | None) -> str:
    found = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(f"size_average and reduce args are deprecated, please use reduction={found!r} instead.", stacklevel=4)
    return found
