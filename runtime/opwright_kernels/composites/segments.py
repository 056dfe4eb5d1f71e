"""Reductions of the parts of a dimension. They see Tensors of any device."""

from __future__ import annotations

from typing import Any

import numpy as np

import opwright
from opwright.metadata.view_layouts import without_base
from opwright_core.arrays import layouts
from opwright_core.tensors.tensor import wrap
from opwright_kernels.plain import arrays_of

Operand = Any  # a Tensor

_REDUCTIONS = {"sum": ("sum", 0.0), "mean": ("sum", 0.0), "prod": ("prod", 1.0)} | {
    "max": ("amax", float("-inf")),
    "min": ("amin", float("inf")),
}
_FEW = 4096  # elements that one call of `ufunc.at` reduces in less time than the operators take
_UFUNCS: dict[str, Any] = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def segment_reduce(
    data: Operand,
    reduce: str,
    lengths: Operand | None,
    indices: Operand | None,
    offsets: Operand | None,
    axis: int,
    unsafe: bool,
    initial: complex | None,
) -> Operand:
    """Reduce segments of `axis`, of the given lengths or between offsets; what is in none is left out."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"segment_reduce: reduce must be one of {', '.join(_REDUCTIONS)}, but got {reduce!r}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce: exactly one of lengths and offsets must be given")
    axis = layouts.wrap_dim(axis, data.ndim)
    name, neutral = _REDUCTIONS[reduce]
    first = neutral if initial is None else initial
    whole = None if lengths is None or axis else arrays_of(data, indices=lengths)
    if (
        whole
        and whole[0].size <= _FEW
        and whole[1].ndim == 1
        and whole[1].sum() == len(whole[0])
        and (whole[1] >= 0).all()
    ):
        return wrap(_reduced_whole(whole[0], whole[1], _UFUNCS[name], first, mean=reduce == "mean", initial=initial))
    starts, ends = _bounds(lengths, offsets, data, axis, unsafe)
    return _reduced(data, axis, starts, ends, name, first, mean=reduce == "mean", initial=initial)


def _reduced_whole(data: Any, lengths: Any, ufunc: Any, first: complex, *, mean: bool, initial: complex | None) -> Any:
    """Return reductions of segments that follow on each other, and are all of an array."""
    result = np.full((len(lengths), *data.shape[1:]), first, data.dtype)
    ufunc.at(result, np.repeat(np.arange(len(lengths)), lengths), data)
    if mean:
        result /= np.maximum(lengths, 1).astype(data.dtype).reshape(-1, *[1] * (data.ndim - 1))
        result[lengths == 0] = np.nan if initial is None else initial
    return result


def _bounds(
    lengths: Operand | None, offsets: Operand | None, data: Operand, axis: int, unsafe: bool
) -> tuple[Operand, Operand]:
    """Return where segments begin and end. Raises RuntimeError for negative lengths, and for some that do not add up
    unless `unsafe`."""
    aten: Any = opwright.ops.aten
    given: Operand = lengths if lengths is not None else offsets
    if given.ndim != axis + 1 or tuple(given.shape[:axis]) != tuple(data.shape[:axis]):
        raise RuntimeError(
            f"segment_reduce(): lengths or offsets of shape {list(given.shape)} do not fit data of shape "
            f"{list(data.shape)} reduced along axis {axis}"
        )
    if lengths is not None:
        ends = aten.cumsum(lengths, -1)
        if not unsafe:
            aten._assert_async(aten.all(lengths >= 0), "lengths contains negative value!")
            is_whole = aten.all(aten.sum(lengths, [-1]) == data.shape[axis])
            said = (
                f"segment_reduce(): Expected all rows of lengths along axis to sum to {data.shape[axis]} when !unsafe."
            )
            aten._assert_async(is_whole, said)
        return ends - lengths, ends
    count = given.shape[-1] - 1
    starts, ends = aten.narrow(given, -1, 0, count), aten.narrow(given, -1, 1, count)
    aten._assert_async(aten.all(ends >= starts), "segment_reduce(): offsets go back: Expected segment_length >= 0")
    return starts, ends


def _reduced(
    data: Operand,
    axis: int,
    starts: Operand,
    ends: Operand,
    name: str,
    first: complex,
    *,
    mean: bool,
    initial: complex | None,
) -> Operand:
    aten = opwright.ops.aten
    count, after = ends.shape[-1], [1] * (data.ndim - axis - 1)
    positions = aten.arange(data.shape[axis], device=data.device)
    # As many segments end before a position as its own has as its number; what is in none gets a row of its own.
    owner = aten.sum(aten.unsqueeze(ends, -2) <= aten.unsqueeze(positions, -1), -1)
    index = aten.expand(aten.reshape(owner, [*owner.shape, *after]), data.shape)
    sizes = [*data.shape[:axis], count + 1, *data.shape[axis + 1 :]]
    table = aten.scatter_reduce(aten.new_full(data, sizes, first), axis, index, data, name)
    result = without_base(aten.contiguous(aten.narrow(table, axis, 0, count)))
    if not mean:
        return result
    lengths = aten.reshape(ends - starts, [*ends.shape, *after])
    filled = result / aten.to(aten.clamp(lengths, 1), data.dtype)
    return aten.where(lengths > 0, filled, float("nan") if initial is None else initial)
