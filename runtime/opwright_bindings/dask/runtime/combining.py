"""Graphs of operators whose results of parts are put together: trees, running reductions, products, losses."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np

from opwright.dimensions.families import Along, Everything, Family
from opwright.dimensions.layouts import Result, results
from opwright_bindings.dask.runtime.graphs import Cut, blocks, blockwise, name_of
from opwright_bindings.dask.runtime.tasks import Added, Call, Part, Running
from opwright_core.dispatch.call.operator import Operator

__all__ = ["combined", "product", "reduced_loss"]

_SPLIT = 16  # results of parts that one task reduces


def combined(operator: Operator, family: Along | Everything, call: Call, array: da.Array) -> da.Array | None:
    """Return the graph of an operator whose results of parts combine, by parts; None where there are none."""
    axis = family.over(array.ndim, call.values)
    if any(np.isnan(size) or size == 0 for size in array.shape) or not all(0 <= each < array.ndim for each in axis):
        return None  # which the operator itself answers, or refuses
    if all(array.numblocks[each] == 1 for each in axis):
        return None
    labels = {call.positions[0]: tuple([None if each in axis else each for each in range(array.ndim)])}
    made = results(operator, call.values, {call.positions[0]: (array.shape, array.dtype)}, labels)
    if made is None or len(made) != 1:
        return None
    array = array.rechunk({each: tuple([size for size in array.chunks[each] if size]) for each in axis})
    if len(made[0].sizes) == array.ndim and len(axis) == 1 and made[0].sizes[axis[0]] == array.shape[axis[0]]:
        return _running(call, array, axis[0], labels, made[0])
    return _tree(operator, call, array, axis, made[0].dtype, family.combines)


def _running(call: Call, array: da.Array, axis: int, labels: Any, made: Result) -> da.Array:
    """Return a running reduction: each part goes on from the last element of the part before."""
    position, own = call.positions[0], labels[call.positions[0]]
    before = (slice(None),) * axis
    found: list[da.Array] = []
    ends = np.cumsum([0, *array.chunks[axis]]).tolist()
    for start, stop in pairwise(ends):
        part = array[(*before, slice(start, stop))]
        sizes = tuple([stop - start if each == axis else size for each, size in enumerate(made.sizes)])
        result = replace(made, sizes=sizes)
        if not found:
            found.append(blocks(call, Cut({position: part}, labels, [result])))
        else:
            last = found[-1][(*before, slice(-1, None))]
            found += blockwise(Running(call, axis), [(part, own), (last, own)], [result], name_of(call), [{}])
    return da.concatenate(found, axis=axis)


def _tree(
    operator: Operator, call: Call, array: da.Array, axis: tuple[int, ...], dtype: Any, way: bool | str
) -> da.Array:
    """Return a reduction as a tree: of blocks, then of their results, by the operator or by a word."""
    keepdim = operator.signature.positions.get("keepdim")
    part = Part(call, axis, keepdim)
    found = _reduced(part, array, dtype)
    if isinstance(way, str):
        found = getattr(found, way)(axis, keepdims=True).astype(dtype)
    most = max(2, round(_SPLIT ** (1 / len(axis))))
    while any(found.numblocks[each] > 1 for each in axis):
        found = _reduced(part, found.rechunk(dict.fromkeys(axis, most)), dtype)
    return found if keepdim is not None and call.values[keepdim] else found.squeeze(axis)


def _reduced(part: Part, array: da.Array, dtype: Any) -> da.Array:
    """Return one level of a tree: of each block its reduction, of size 1."""
    index = tuple(range(array.ndim))
    ones = {each: (1,) * array.numblocks[each] for each in part.axis}
    meta = np.empty((0,) * array.ndim, dtype=dtype)
    name = f"{name_of(part.whole)}-partial"
    return da.blockwise(part, index, array, index, adjust_chunks=ones, token=name, dtype=dtype, meta=meta)


def product(call: Call, cut: Cut, family: Family) -> da.Array | None:
    """Return the graph of an operator whose results of parts are summed, or of which the largest or smallest counts;
    None where the dimensions of which that is so are not cut."""
    shapes = {position: array.shape for position, array in cut.arrays.items()}
    labels, kinds = family.combined(shapes, call.values)
    ways = {labels[position][dim]: kind.word for (position, dim), kind in kinds.items() if kind.is_combined}
    operands = [(array, labels[position]) for position, array in cut.arrays.items()]
    is_cut = any(label in ways and array.numblocks[dim] > 1 for array, own in operands for dim, label in enumerate(own))
    made = cut.results[0]
    is_one = len(cut.results) == 1 == len({*ways.values()}) and cut.labels == family.labels(shapes, call.values)
    if not is_cut or not is_one or not np.issubdtype(made.dtype, np.inexact):
        return None
    numbers = dict.fromkeys([label for label in ways if label is not None], 1)
    parts = Result(made.dtype, (*numbers, *made.labels), (1,) * len(numbers) + made.sizes)
    arrays = da.core.unify_chunks(*[each for pair in operands for each in pair], warn=False)[1]
    aligned = [(array, own) for array, (_, own) in zip(arrays, operands, strict=True)]
    (found,) = blockwise(Added(call, len(numbers)), aligned, [parts], name_of(call), [numbers])
    way = next(iter(ways.values()))
    together = getattr(found, way)(tuple(range(len(numbers))))
    return together.astype(made.dtype)


def reduced_loss(losses: da.Array, reduction: int, dtype: Any) -> da.Array:
    """Return the mean (1) or the sum (2) of losses."""
    return (losses.mean() if reduction == 1 else losses.sum()).astype(dtype)
