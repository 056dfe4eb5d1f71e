"""The elements of arrays in other positions and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import opwright
from opwright.array_api.promotion import promoted
from opwright.methods.functional import broadcast_shapes as shape_of
from opwright.methods.functional import broadcast_tensors
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims",
    "repeat", "reshape", "roll", "squeeze", "stack", "take", "take_along_axis", "tile", "unstack",
]  # fmt: skip

Axes: TypeAlias = int | Sequence[int]


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Return the arrays as views of the shape that all broadcast to."""
    return tuple(broadcast_tensors(*arrays)) if arrays else ()


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that all broadcast to, `()` of none. Raises ValueError where they do not fit."""
    try:
        return tuple(shape_of(*shapes))
    except RuntimeError as error:
        raise ValueError(f"broadcast_shapes: {error}") from error


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """Return `x` as a view of a shape that it broadcasts to."""
    return opwright.broadcast_to(x, tuple(shape))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Return the arrays, promoted, one after the other along `axis`; flattened first where that is None."""
    operands = promoted(*arrays)
    if axis is None:
        return opwright.cat([opwright.flatten(each) for each in operands], 0)
    return opwright.cat(list(operands), axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Return the arrays, promoted, one after the other along a new axis."""
    return opwright.stack(list(promoted(*arrays)), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the slices of `x` along `axis`, views."""
    return tuple(opwright.unbind(x, axis))


def expand_dims(x: Tensor, /, axis: Axes) -> Tensor:
    """Return a view with new axes of size 1 at the positions of the result that `axis` names.

    Raises IndexError for a position out of range, ValueError for one that is named twice.
    """
    given = _listed(axis)
    positions = range(x.ndim + len(given))
    for each in given:
        if not -len(positions) <= each < len(positions):
            raise IndexError(f"expand_dims: axis {each} is out of range for a result of {len(positions)} dimensions")
    found = sorted(positions[each] for each in given)
    if len(set(found)) < len(found):
        raise ValueError(f"expand_dims: the axes {given} name one place twice")
    for position in found:
        x = opwright.unsqueeze(x, position)
    return x


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """Return a view without the given axes. Raises ValueError where one is not of size 1."""
    axes = _listed(axis)
    for each in axes:
        if x.size(each) != 1:
            raise ValueError(f"squeeze: axis {each} has size {x.size(each)}, not 1")
    return opwright.squeeze(x, axes)


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """Return the elements in reverse order along `axis`, along all where that is None."""
    return opwright.flip(x, tuple(range(x.ndim)) if axis is None else _listed(axis))


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """Return a view with some axes in other positions."""
    return opwright.movedim(x, _listed(source), _listed(destination))


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """Return a view with all axes in another order."""
    return opwright.permute(x, tuple(axes))


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return each element (slice of `axis`) as often as `repeats` says; of the flattened array without `axis`."""
    if isinstance(repeats, Tensor):
        repeats = repeats.to(opwright.int64)
        if repeats.ndim == 0:
            repeats = repeats.reshape(1)
    return opwright.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """Return the elements in another shape: a view where that is possible and `copy` is not True.

    Raises ValueError for `copy=False` where only a copy can be had.
    """
    sizes = tuple(shape)
    if copy:
        return opwright.reshape(x.clone(), sizes)
    if copy is None:
        return opwright.reshape(x, sizes)
    try:
        return x.view(sizes)
    except RuntimeError as error:
        raise ValueError(f"reshape: a view of shape {sizes} cannot be had of strides {x.stride()}") from error


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Return the elements moved by `shift` positions along `axis`, those from the end to the start; of the flattened
    array where `axis` is None."""
    if axis is None:
        return opwright.roll(x, shift)
    axes = _listed(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    return opwright.roll(x, shifts, axes)


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """Return copies of `x` beside each other."""
    return opwright.tile(x, tuple(repetitions))


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return the slices of `axis` at `indices`, negative ones from the end. A vector needs no axis.

    Raises ValueError where an axis is needed.
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: an array of {x.ndim} dimensions needs an axis")
        axis = 0
    position = range(x.ndim)[axis]
    return x[(slice(None),) * position + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return along `axis` the elements at `indices`, which broadcast with `x`; negative ones from the end."""
    positions = indices.to(opwright.int64)
    return opwright.take_along_dim(x, opwright.where(positions < 0, positions + x.size(axis), positions), axis)  # type: ignore[no-any-return]


def _listed(axes: Axes) -> tuple[int, ...]:
    return (axes,) if isinstance(axes, int) else tuple(axes)
