"""Graphs of blocks: one task for each block of a result, trees for reductions, and gradients by blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np

from opwright.dispatch.operator import Operator
from opwright.doors.dask.families import Along, Everything, Labels
from opwright.doors.dask.layouts import Result, results
from opwright.doors.dask.tasks import Backward, Call, Item, Part

__all__ = ["Cut", "backward", "blocks", "tree"]

_SPLIT = 16  # results of parts that one task reduces


@dataclass(frozen=True)
class Cut:
    """The arrays of a call by position, the labels of their dimensions, and the results."""

    arrays: dict[int, da.Array]
    labels: Labels
    results: Sequence[Result]


def blocks(call: Call, cut: Cut) -> Any:
    """Return the results of a call: each block is computed from the blocks that have the same labels."""
    operands = [(array, cut.labels[place]) for place, array in cut.arrays.items()]
    found = _blockwise(call, operands, cut.results, _name(call))
    return found[0] if len(found) == 1 else tuple(found)


def _blockwise(
    task: Any,
    operands: Sequence[tuple[da.Array, tuple[int | None, ...]]],
    made: Sequence[Result],
    name: str,
    several: bool = False,
) -> list[da.Array]:
    """Return the results of a task on blocks; one that gives a tuple has `several` results, even one."""
    free = 1 + max([label for _, labels in operands for label in labels if label is not None], default=-1)
    pairs: list[Any] = []
    for array, labels in operands:
        single = {place: -1 for place, label in enumerate(labels) if label is None and array.numblocks[place] != 1}
        index = []
        for label in labels:
            index.append(free if label is None else label)
            free += label is None
        pairs += [array.rechunk(single) if single else array, tuple(index)]
    if len(made) == 1 and not several:
        return [_one(task, pairs, made[0], free, name)]
    loops = tuple(sorted({label for _, labels in operands for label in labels if label is not None}))
    meta = np.empty((0,) * len(loops), dtype=object)
    together = da.blockwise(task, loops, *pairs, token=name, dtype=object, meta=meta, concatenate=True)
    return [_one(Item(place), [together, loops], each, free, name) for place, each in enumerate(made)]


def _one(task: Any, pairs: Sequence[Any], made: Result, free: int, name: str) -> da.Array:
    index, new = [], {}
    for label, size in zip(made.labels, made.sizes, strict=True):
        if label is None:
            new[free] = size
        index.append(free if label is None else label)
        free += label is None
    meta = np.empty((0,) * len(index), dtype=made.dtype)
    return da.blockwise(
        task, tuple(index), *pairs, token=name, new_axes=new, dtype=made.dtype, meta=meta, concatenate=True
    )


def tree(operator: Operator, family: Along | Everything, call: Call, array: da.Array) -> da.Array | None:
    """Return a reduction as a tree: of blocks, then of their results; None where there are no parts to reduce."""
    axis = family.over(array.ndim, call.values)
    if any(np.isnan(size) or size == 0 for size in array.shape) or not all(0 <= each < array.ndim for each in axis):
        return None  # which the operator itself answers, or refuses
    if all(array.numblocks[each] == 1 for each in axis):
        return None
    place = call.places[0]
    labels = {place: tuple([None if each in axis else each for each in range(array.ndim)])}
    made = results(operator, call.values, {place: (array.shape, array.dtype)}, labels)
    if made is None:
        return None
    keepdim = operator.signature.positions.get("keepdim")
    part = Part(call, axis, keepdim)
    found = array.rechunk({each: tuple([size for size in array.chunks[each] if size]) for each in axis})
    found = _reduced(part, found, made[0].dtype)
    most = max(2, round(_SPLIT ** (1 / len(axis))))
    while any(found.numblocks[each] > 1 for each in axis):
        found = _reduced(part, found.rechunk(dict.fromkeys(axis, most)), made[0].dtype)
    return found if keepdim is not None and call.values[keepdim] else found.squeeze(axis)


def _reduced(part: Part, array: da.Array, dtype: Any) -> da.Array:
    """Return one level of a tree: of each block its reduction, of size 1."""
    index = tuple(range(array.ndim))
    ones = {each: (1,) * array.numblocks[each] for each in part.axis}
    meta = np.empty((0,) * array.ndim, dtype=dtype)
    name = f"{_name(part.whole)}-partial"
    return da.blockwise(part, index, array, index, adjust_chunks=ones, token=name, dtype=dtype, meta=meta)


def backward(call: Call, cut: Cut, grads: Sequence[da.Array]) -> tuple[da.Array | None, ...]:
    """Return the gradients of a call's arrays, block by block. Those that broadcast are summed."""
    if len(grads) != len(cut.results):
        raise TypeError(f"{call.operator} has {len(cut.results)} results, but {len(grads)} gradients were given")
    for grad, made in zip(grads, cut.results, strict=True):
        if grad.shape != made.sizes:
            raise ValueError(f"a result of {call.operator} has the shape {made.sizes}, its gradient {grad.shape}")
    sizes = {label: size for made in cut.results for label, size in zip(made.labels, made.sizes, strict=True)}
    loops = sorted([label for label in sizes if label is not None])
    operands, wanted, spread = [], [], {}
    for place, array in cut.arrays.items():
        core = array.ndim - sum(label is not None for label in cut.labels[place])
        is_wanted = np.issubdtype(array.dtype, np.inexact)
        given = [label for label in cut.labels[place] if label is not None]
        if is_wanted and given != loops and loops[len(loops) - len(given) :] != given:
            raise TypeError(f"{call.operator} has no gradient by blocks: its argument {place} is not cut as others are")
        if is_wanted and (len(given) == array.ndim or core + len(given) == array.ndim):
            labels = (*loops[: len(loops) - len(given)], *cut.labels[place])
            shape = (*[sizes[each] for each in labels[: len(labels) - array.ndim]], *array.shape)
            shape = tuple([size if label is None else sizes[label] for label, size in zip(labels, shape, strict=True)])
            operands.append((da.broadcast_to(array, shape), labels))
            spread[place] = Result(array.dtype, labels, shape)
            wanted.append(place)
        else:
            operands.append((array, cut.labels[place]))
    task = Backward(call, len(grads), tuple(wanted))
    pairs = [*((grad, made.labels) for grad, made in zip(grads, cut.results, strict=True)), *operands]
    parts = _blockwise(task, pairs, list(spread.values()), f"{_name(call)}-backward", several=True)
    found = dict(zip(wanted, parts, strict=True))
    return tuple([_summed(found[place], array) if place in found else None for place, array in cut.arrays.items()])


def _summed(grad: da.Array, like: da.Array) -> da.Array:
    """Return a gradient of the shape of an array that broadcast."""
    extra = grad.ndim - like.ndim
    grad = grad.sum(tuple(range(extra))) if extra else grad
    ones = tuple([place for place, size in enumerate(like.shape) if size == 1 and grad.shape[place] != 1])
    return grad.sum(ones, keepdims=True) if ones else grad


def _name(call: Call) -> str:
    """Return what tasks are called in Dask's own pictures: `add.Tensor`."""
    return call.operator.partition("::")[2]
