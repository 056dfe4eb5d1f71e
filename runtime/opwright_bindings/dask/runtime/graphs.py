"""Graphs of blocks: one task for each block of a result, and for each block of gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dask.array as da
import numpy as np

from opwright.dimensions.layouts import Result
from opwright.dimensions.windows import Span
from opwright_bindings.dask.runtime.overlaps import Overlap, gathered, overlapping
from opwright_bindings.dask.runtime.tasks import Backward, Call, Item

__all__ = ["Cut", "backward", "blocks", "blockwise", "name_of"]

Operand = tuple[da.Array, tuple[int | None, ...]]


@dataclass(frozen=True)
class Cut:
    """The arrays of a call by position, the labels of their dimensions, and the results.

    `spans` are how windows lie over the dimensions of the operand that has some, `windowed`.
    """

    arrays: dict[int, da.Array]
    labels: Mapping[int, tuple[int | None, ...]]
    results: Sequence[Result]
    windowed: int = -1
    spans: Mapping[int, Span] | None = None


def blocks(call: Call, cut: Cut) -> Any:
    """Return the results of a call: each block is computed from the blocks that have the same labels."""
    ready = _laid_out(call, cut)
    operands = [*ready.operands, *ready.ends]
    found = blockwise(ready.call, operands, ready.results, name_of(call), [ready.sizes] * len(ready.results))
    return found[0] if len(found) == 1 else tuple(found)


@dataclass(frozen=True)
class _Ready:
    """A call with its operands as tasks get them; what windows cut off of results comes after these, as `ends`.

    `sizes` are those of blocks of results, by label, where they are not those of operands.
    """

    call: Call
    operands: Sequence[Operand]
    ends: Sequence[Operand]
    results: Sequence[Result]
    sizes: Mapping[int, Any]
    overlap: Overlap | None = None


def _laid_out(call: Call, cut: Cut) -> _Ready:
    operands = [(array, cut.labels[position]) for position, array in cut.arrays.items()]
    if not cut.spans:
        return _Ready(call, operands, (), cut.results, {})
    counts = {dim: cut.results[0].sizes[dim] for dim in cut.spans}
    overlap = overlapping(cut.arrays[cut.windowed], cut.spans, counts)
    free = 1 + max([label for _, labels in operands for label in labels if label is not None], default=-1)
    by_dim = {dim: free + position for position, dim in enumerate(cut.spans)}
    operands = [
        (overlap.array, _labelled(cut.labels[position], by_dim))
        if position == cut.windowed
        else (array, cut.labels[position])
        for position, array in cut.arrays.items()
    ]
    ends = [(da.from_array(overlap.ends(dim), chunks=2), (label,)) for dim, label in by_dim.items()]
    results = [replace(made, labels=_labelled(made.labels, by_dim)) for made in cut.results]
    sizes = {by_dim[dim]: overlap.sizes(dim) for dim in by_dim}
    return _Ready(replace(call, dims=tuple(by_dim)), operands, ends, results, sizes, overlap)


def _labelled(labels: Sequence[int | None], by_dim: Mapping[int, int]) -> tuple[int | None, ...]:
    return tuple([by_dim.get(dim, label) for dim, label in enumerate(labels)])


def blockwise(
    task: Any,
    operands: Sequence[Operand],
    made: Sequence[Result],
    name: str,
    sizes: Sequence[Mapping[int, Any]],
    several: bool = False,
) -> list[da.Array]:
    """Return the results of a task on blocks; one that gives a tuple has `several` results, even one.

    `sizes` of blocks of each result are those of operands, but for the labels that are given.
    """
    free = 1 + max([label for _, labels in operands for label in labels if label is not None], default=-1)
    pairs: list[Any] = []
    for array, labels in operands:
        single = {
            position: -1 for position, label in enumerate(labels) if label is None and array.numblocks[position] != 1
        }
        index = []
        for label in labels:
            index.append(free if label is None else label)
            free += label is None
        pairs += [array.rechunk(single) if single else array, tuple(index)]
    align = not any(sizes)
    if len(made) == 1 and not several:
        return [_one(task, pairs, made[0], free, name, sizes[0], align)]
    loops = tuple(sorted({label for _, labels in operands for label in labels if label is not None}))
    meta = np.empty((0,) * len(loops), dtype=object)
    together = da.blockwise(
        task, loops, *pairs, token=name, dtype=object, meta=meta, concatenate=True, align_arrays=align
    )
    return [
        _one(Item(position), [together, loops], each, free, name, sizes[position], align)
        for position, each in enumerate(made)
    ]


def _one(
    task: Any, pairs: Sequence[Any], made: Result, free: int, name: str, sizes: Mapping[int, Any], align: bool
) -> da.Array:
    index, new = [], {}
    for label, size in zip(made.labels, made.sizes, strict=True):
        if label is None:
            new[free] = size
        index.append(free if label is None else label)
        free += label is None
    return da.blockwise(
        task,
        tuple(index),
        *pairs,
        token=name,
        new_axes=new,
        adjust_chunks={label: size for label, size in sizes.items() if label in index} or None,
        dtype=made.dtype,
        meta=np.empty((0,) * len(index), dtype=made.dtype),
        concatenate=True,
        align_arrays=align,
    )


def backward(call: Call, cut: Cut, grads: Sequence[da.Array]) -> tuple[da.Array | None, ...]:
    """Return the gradients of a call's arrays. Blocks that several blocks of results need have the sum of theirs."""
    _check_gradients(call, cut, grads)
    ready = _laid_out(call, cut)
    wanted = [position for position, array in cut.arrays.items() if np.issubdtype(array.dtype, np.inexact)]
    if not wanted:
        return (None,) * len(cut.arrays)
    operands, given = _aligned(ready, grads)
    loops = sorted({label for made in ready.results for label in made.labels if label is not None})
    made: list[Result] = []
    sizes: list[Mapping[int, Any]] = []
    extra: list[int] = []
    for position, (array, labels) in zip(cut.arrays, operands, strict=True):
        if position in wanted:
            missing = [label for label in loops if label not in labels]
            cut_as = [(label, at) for at, label in enumerate(labels) if label is not None]
            ones = [label for label, at in cut_as if array.shape[at] == 1]
            made.append(Result(array.dtype, (*missing, *labels), (1,) * len(missing) + array.shape))
            kept = {label: array.chunks[at] for label, at in cut_as if label in ready.sizes}
            sizes.append(kept | dict.fromkeys([*missing, *ones], 1))
            extra.append(len(missing))
    task = Backward(ready.call, len(grads), tuple(wanted), tuple(extra))
    parts = blockwise(task, [*given, *operands, *ready.ends], made, f"{name_of(call)}-backward", sizes, several=True)
    found = {}
    for position, part, count in zip(wanted, parts, extra, strict=True):
        total = _summed(part, count, cut.arrays[position])
        found[position] = _whole(total, cut, ready) if position == cut.windowed else total
    return tuple([found.get(position) for position in cut.arrays])


def _check_gradients(call: Call, cut: Cut, grads: Sequence[da.Array]) -> None:
    if len(grads) != len(cut.results):
        raise TypeError(f"{call.operator} has {len(cut.results)} results, but {len(grads)} gradients were given")
    for grad, made in zip(grads, cut.results, strict=True):
        if grad.shape != made.sizes:
            raise ValueError(f"a result of {call.operator} has the shape {made.sizes}, its gradient {grad.shape}")


def _aligned(ready: _Ready, grads: Sequence[da.Array]) -> tuple[Sequence[Operand], list[Operand]]:
    """Return operands and gradients whose blocks of one label are cut alike, gradients as results are."""
    given = [(grad, made.labels) for grad, made in zip(grads, ready.results, strict=True)]
    pairs: list[Any] = []
    known = [label for _, labels in (*given, *ready.operands) for label in labels if label is not None]
    free = 1 + max(known, default=-1)
    for array, labels in (*given, *ready.operands):
        index = []
        for label in labels:
            is_free = label is None or label in ready.sizes
            index.append(free if is_free else label)
            free += is_free
        pairs += [array, tuple(index)]
    arrays = da.core.unify_chunks(*pairs, warn=False)[1]
    cut = [(_cut(array, labels, ready.sizes), labels) for array, (_, labels) in zip(arrays, given, strict=False)]
    return [(array, labels) for array, (_, labels) in zip(arrays[len(given) :], ready.operands, strict=True)], cut


def _cut(array: da.Array, labels: Sequence[int | None], sizes: Mapping[int, Any]) -> da.Array:
    """Return an array whose blocks have these sizes, by label."""
    chunks = {dim: sizes[label] for dim, label in enumerate(labels) if label is not None and label in sizes}
    return array.rechunk(chunks) if chunks else array


def _summed(grad: da.Array, extra: int, like: da.Array) -> da.Array:
    """Return a gradient of the shape of an array, of which several blocks of results needed each block."""
    grad = grad.sum(tuple(range(extra))) if extra else grad
    ones = tuple([position for position, size in enumerate(like.shape) if size == 1 and grad.numblocks[position] > 1])
    return grad.sum(ones, keepdims=True) if ones else grad


def _whole(grad: da.Array, cut: Cut, ready: _Ready) -> da.Array:
    """Return the gradient of the operand of windows, whose blocks overlapped."""
    if ready.overlap is None:
        return grad
    shape = cut.arrays[cut.windowed].shape
    return gathered(grad, ready.overlap, {dim: int(shape[dim]) for dim in ready.overlap.pieces})


def name_of(call: Call) -> str:
    """Return what tasks are called in Dask's own pictures: `add.Tensor`."""
    return call.operator.partition("::")[2]
