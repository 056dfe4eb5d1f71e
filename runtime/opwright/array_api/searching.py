"""Functions of order: sorting, extremes and their positions, elements that are found, sets."""

from __future__ import annotations

from typing import Literal, NamedTuple

import opwright
from opwright.array_api.promotion import Operand, isdtype, promoted
from opwright.methods.indexing import nonzero as places_of
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "argmax", "argmin", "argsort", "isin", "nonzero", "searchsorted", "sort", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "where",
]  # fmt: skip


class UniqueAll(NamedTuple):
    """Results of `unique_all`."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Results of `unique_counts`."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Results of `unique_inverse`."""

    values: Tensor
    inverse_indices: Tensor


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the elements in order along `axis`, NaN as the largest."""
    values: Tensor = opwright.sort(x, stable=stable, dim=axis, descending=descending)[0]
    return values


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return where along `axis` the elements stand in order; equal ones keep theirs with `stable`."""
    return opwright.argsort(x, stable=stable, dim=axis, descending=descending)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return where the largest element stands along `axis`, or in the flattened array."""
    return opwright.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return where the smallest element stands along `axis`, or in the flattened array."""
    return opwright.argmin(x, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return for each axis where the elements that are not zero stand. Raises ValueError for 0-dimensional arrays."""
    if x.ndim == 0:
        raise ValueError("nonzero: an array without dimensions has no places")
    return tuple(places_of(x, as_tuple=True))


def searchsorted(
    x1: Tensor, x2: Tensor | float, /, *, side: Literal["left", "right"] = "left", sorter: Tensor | None = None
) -> Tensor:
    """Return where each element of `x2`, or a number, would go into the ordered vector `x1`, before or behind its
    equals. `sorter` says where the elements of a vector without order stand in order."""
    vector, values = promoted(x1, x2)
    order = None if sorter is None else sorter.to(opwright.int64)
    return opwright.searchsorted(vector, values, side=side, sorter=order)


def where(condition: Tensor, x1: Operand, x2: Operand, /) -> Tensor:
    """Return the elements of `x1` where the condition holds, else those of `x2`."""
    return opwright.where(condition, *promoted(x1, x2))


def isin(x1: Tensor | int, x2: Tensor | int, /, *, invert: bool = False) -> Tensor:
    """Return for each element of `x1` whether an element of `x2` is equal to it; with `invert` whether none is."""
    if isinstance(x1, Tensor) and isinstance(x2, Tensor):
        x1, x2 = promoted(x1, x2)
    return opwright.isin(x1, x2, invert=invert)  # type: ignore[type-var, return-value]


def unique_all(x: Tensor, /) -> UniqueAll:
    """Return the elements that differ, in order; where each stands first, which of them each element is, and how often
    it occurs. Every NaN differs from all others; complex numbers are ordered by their real parts, then the others."""
    flat = opwright.flatten(x)
    order = _order(flat)
    ordered = flat[order]
    is_new = opwright.cat([opwright.ones_like(ordered[:1], dtype=opwright.bool), ordered[1:] != ordered[:-1]])
    starts = places_of(is_new, as_tuple=True)[0]
    group = opwright.cumsum(is_new, 0) - 1
    inverse = opwright.scatter(opwright.zeros_like(order), 0, order, group)
    ends = opwright.cat([starts[1:], opwright.full_like(starts[:1], flat.numel())])
    return UniqueAll(ordered[starts], order[starts], inverse.reshape(x.shape), ends - starts)


def _order(flat: Tensor) -> Tensor:
    if not isdtype(flat.dtype, "complex floating"):
        return opwright.argsort(flat, stable=True)
    order = opwright.argsort(opwright.imag(flat), stable=True)
    return order[opwright.argsort(opwright.real(flat)[order], stable=True)]


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Return the elements that differ, and how often each occurs (`unique_all`)."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Return the elements that differ, and which of them each element is (`unique_all`)."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """Return the elements that differ (`unique_all`)."""
    return unique_all(x).values
