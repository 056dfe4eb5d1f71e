"""Distances whose way of computing is named by a text, as `torch.cdist` has it."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from numpy.typing import NDArray

from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor

__all__ = ["cdist"]

Operand = TypeVar("Operand", Tensor, NDArray[Any])

# What the operator calls them.
_WAYS: Final = {
    "use_mm_for_euclid_dist_if_necessary": 0,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def cdist(
    x1: Operand, x2: Operand, p: float = 2.0, compute_mode: str | int | None = "use_mm_for_euclid_dist_if_necessary"
) -> Operand:
    """Return the distance of each row of `x1` from each of `x2` by the norm `p`, in batches. `compute_mode` says
    whether products of matrices may be used for p = 2: a text, or the operator's number. Raises ValueError for another
    text."""
    if isinstance(compute_mode, str):
        if compute_mode not in _WAYS:
            raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
        compute_mode = _WAYS[compute_mode] or None
    return aten["cdist"](x1, x2, p, compute_mode)  # type: ignore[no-any-return]
