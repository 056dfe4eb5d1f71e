"""Tensors joined and padded, by way of other operators. They see Tensors of any device."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.arrays.sizes import holds
from opwright_core.errors import DispatchError
from opwright_kernels.rules.padding import check_pairs, padded_shape

Operand = Any  # a Tensor


# Stacks


def hstack(tensors: Sequence[Operand]) -> Operand:
    """Put tensors side by side: vectors in one, matrices by columns."""
    columns = _at_least(1, tensors, "hstack")
    return opwright.ops.aten.cat(columns, 0 if len(columns[0].shape) == 1 else 1)


def hstack_out(tensors: Sequence[Operand], out: Operand) -> Operand:
    """Write `hstack` into a tensor."""
    columns = _at_least(1, tensors, "hstack")
    return opwright.ops.aten.cat(columns, 0 if len(columns[0].shape) == 1 else 1, out=out)


def vstack(tensors: Sequence[Operand]) -> Operand:
    """Put tensors one below the other: vectors as rows."""
    return opwright.ops.aten.cat(_at_least(2, tensors, "vstack"), 0)


def vstack_out(tensors: Sequence[Operand], out: Operand) -> Operand:
    """Write `vstack` into a tensor."""
    return opwright.ops.aten.cat(_at_least(2, tensors, "vstack"), 0, out=out)


def dstack(tensors: Sequence[Operand]) -> Operand:
    """Put tensors one behind the other, along the third dimension."""
    return opwright.ops.aten.cat(_at_least(3, tensors, "dstack"), 2)


def dstack_out(tensors: Sequence[Operand], out: Operand) -> Operand:
    """Write `dstack` into a tensor."""
    return opwright.ops.aten.cat(_at_least(3, tensors, "dstack"), 2, out=out)


def column_stack(tensors: Sequence[Operand]) -> Operand:
    """Put tensors side by side: numbers and vectors as columns."""
    return opwright.ops.aten.hstack(_as_columns(tensors))


def column_stack_out(tensors: Sequence[Operand], out: Operand) -> Operand:
    """Write `column_stack` into a tensor."""
    return opwright.ops.aten.hstack(_as_columns(tensors), out=out)


def _at_least(ndim: int, tensors: Sequence[Operand], name: str) -> list[Operand]:
    if not tensors:
        raise RuntimeError(f"{name}: expected at least one tensor")
    aten = opwright.ops.aten
    widen = {1: aten.atleast_1d, 2: aten.atleast_2d, 3: aten.atleast_3d}[ndim]
    return [widen(each) for each in tensors]


def _as_columns(tensors: Sequence[Operand]) -> list[Operand]:
    if not tensors:
        raise RuntimeError("column_stack: expected at least one tensor")
    return [
        opwright.ops.aten.reshape(each, [layouts.count(each.shape), 1]) if len(each.shape) < 2 else each
        for each in tensors
    ]


# Grids


def meshgrid(tensors: Sequence[Operand], indexing: str = "ij") -> list[Operand]:
    """Return the coordinates of each point of a grid, as views: vectors expanded to its shape. `indexing`: "ij", or
    "xy" with the first two dimensions swapped."""
    aten = opwright.ops.aten
    _check_axes(tensors, indexing)
    swaps = indexing == "xy" and len(tensors) > 1
    axes = [tensors[1], tensors[0], *tensors[2:]] if swaps else list(tensors)
    shape = [each.shape[0] if each.shape else 1 for each in axes]
    ndim = len(axes)
    grids = [
        aten.expand(aten.view(axis, [size if position == dim else 1 for position in range(ndim)]), shape)
        for dim, (axis, size) in enumerate(zip(axes, shape, strict=True))
    ]
    return [grids[1], grids[0], *grids[2:]] if swaps else grids


def _check_axes(tensors: Sequence[Operand], indexing: str) -> None:
    if not tensors:
        raise RuntimeError("meshgrid: expected at least one tensor")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f"meshgrid: expected indexing 'ij' or 'xy', but got {indexing!r}")
    for each in tensors:
        if len(each.shape) > 1:
            raise RuntimeError(f"meshgrid: expected vectors or numbers, but got {len(each.shape)} dimensions")
        if as_dtype(each.dtype) is not as_dtype(tensors[0].dtype):
            raise RuntimeError(f"meshgrid: expected one dtype, but got {tensors[0].dtype} and {each.dtype}")


def cartesian_prod(tensors: Sequence[Operand]) -> Operand:
    """Return all combinations of an element of each vector, as rows; a single vector as it is."""
    aten = opwright.ops.aten
    for each in tensors:
        if len(each.shape) != 1:
            raise RuntimeError(f"cartesian_prod: expected vectors, but got {len(each.shape)} dimensions")
    if len(tensors) == 1:
        return tensors[0]
    return aten.stack([aten.flatten(each) for each in aten.meshgrid(list(tensors))], 1)


def combinations(self: Operand, r: int, with_replacement: bool) -> Operand:
    """Return all choices of `r` elements of a vector, in order, as rows; with replacement, one may come again."""
    aten = opwright.ops.aten
    if len(self.shape) != 1:
        raise RuntimeError(f"combinations: expected a vector, but got {len(self.shape)} dimensions")
    if r < 0:
        raise RuntimeError(f"combinations: expected a number of elements that is not negative, but got {r}")
    if r == 0:
        return aten.new_empty(self, [0])
    positions = aten.meshgrid([opwright.arange(self.shape[0], device=self.device)] * r)
    chosen = aten.new_ones(positions[0], list(positions[0].shape), dtype=opwright.bool)
    follows = opwright.le if with_replacement else opwright.lt
    for first, second in itertools.pairwise(positions):
        chosen = aten.logical_and(chosen, follows(first, second))
    rows = [aten.masked_select(each, chosen) for each in aten.meshgrid([self] * r)]
    return aten.stack(rows, 1)


# Reversal, diagonals and repetition


def fliplr(self: Operand) -> Operand:
    """Return the columns in reverse order."""
    if len(self.shape) < 2:
        raise RuntimeError(f"fliplr: expected at least 2 dimensions, but got {len(self.shape)}")
    return opwright.ops.aten.flip(self, [1])


def flipud(self: Operand) -> Operand:
    """Return the rows in reverse order."""
    if not self.shape:
        raise RuntimeError("flipud: expected at least one dimension, but got a 0-dim tensor")
    return opwright.ops.aten.flip(self, [0])


def diag(self: Operand, diagonal: int) -> Operand:
    """Return the matrix with a vector on its diagonal, or a copy of the diagonal of a matrix."""
    aten = opwright.ops.aten
    match len(self.shape):
        case 1:
            return aten.diag_embed(self, diagonal)
        case 2:
            return aten.clone(aten.diagonal(self, diagonal), memory_format=opwright.contiguous_format)
    raise RuntimeError(f"diag: expected a vector or a matrix, but got {len(self.shape)} dimensions")


def diagflat(self: Operand, offset: int) -> Operand:
    """Return the matrix with all elements, in row-major order, on its diagonal."""
    aten = opwright.ops.aten
    return aten.diag_embed(aten.ravel(self), offset)


def tile(self: Operand, dims: Sequence[int]) -> Operand:
    """Repeat as `repeat` does, by 1 in front where there are fewer `dims` than dimensions."""
    return opwright.ops.aten.repeat(self, [1] * (len(self.shape) - len(dims)) + list(dims))


def repeat_interleave(self: Operand, repeats: Any, dim: int | None, output_size: int | None) -> Operand:
    """Repeat each element as often as `repeats` says, next to itself, along `dim`, or in a vector of all."""
    aten = opwright.ops.aten
    if dim is None:
        self, dim = aten.ravel(self), 0
    elif not self.shape:
        raise IndexError(f"repeat_interleave: dimension {dim} of a 0-dim tensor")
    dim = layouts.wrap_dim(dim, len(self.shape))
    if not hasattr(repeats, "shape"):
        return _repeated_alike(self, repeats, dim, output_size)
    size = self.shape[dim]
    if len(repeats.shape) == 0 or tuple(repeats.shape) == (1,) != (size,):
        repeats = aten.expand(aten.reshape(repeats, [1]), [size])
    elif len(repeats.shape) == 1 and repeats.shape[0] != size:
        raise RuntimeError(f"repeat_interleave: {repeats.shape[0]} repeats for dimension {dim} of size {size}")
    return aten.index_select(self, dim, aten.repeat_interleave(repeats, output_size=output_size))


def _repeated_alike(self: Operand, repeats: int, dim: int, output_size: int | None) -> Operand:
    aten = opwright.ops.aten
    if repeats < 0:
        raise RuntimeError(f"repeat_interleave: repeats must not be negative, but got {repeats}")
    size = self.shape[dim] * repeats
    if output_size is not None and output_size != size:
        raise RuntimeError(f"repeat_interleave: the output size is {size}, not {output_size}")
    wide = list(self.shape)
    wide.insert(dim + 1, repeats)
    copy = aten.clone(aten.expand(aten.unsqueeze(self, dim + 1), wide), memory_format=opwright.contiguous_format)
    return aten.flatten(copy, dim, dim + 1)


# Padding


def pad(self: Operand, pad: Sequence[int], mode: str, value: float | None) -> Operand:
    """Return pad by a constant, or as `mode` says: "reflect", "replicate", "circular"."""
    if mode not in _MODES:
        raise DispatchError(f"pad: expected mode to be one of {', '.join(_MODES)}, but got {mode!r}")
    return _pad_enum(self, pad, _MODES.index(mode), value)


_MODES = ("reflect", "replicate", "circular", "constant")


def _pad_enum(self: Operand, pad: Sequence[int], mode: int, value: float | None) -> Operand:
    """Return pad as `pad` does, with the mode as a number."""
    aten = opwright.ops.aten
    check_pairs(self, pad)
    name = _MODES[mode]
    if name == "constant":
        return aten.constant_pad_nd(self, pad, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f"pad: mode {name!r} takes no value, but got {value}")
    spatial, ndim = len(pad) // 2, len(self.shape)
    if spatial not in (1, 2, 3) or ndim not in (spatial + 1, spatial + 2):
        raise DispatchError(
            f"pad: mode {name!r} pads the last 1 to 3 dimensions of a tensor with one or two more, but got {spatial} "
            f"pairs and {ndim} dimensions"
        )
    if name == "circular":
        return aten._pad_circular(self, pad)
    kind = "reflection" if name == "reflect" else "replication"
    padder: Any = getattr(aten, f"{kind}_pad{spatial}d")
    return padder(self, pad)


def _pad_circular(self: Operand, pad: Sequence[int]) -> Operand:
    """Return pad so that new positions hold what stands at the other end of their dimension."""
    aten = opwright.ops.aten
    spatial = len(self.shape) - 2
    if len(pad) not in (2 * spatial, 2 * spatial + 2):
        raise RuntimeError(f"circular padding: {len(pad) // 2} pairs do not fit {len(self.shape)} dimensions")
    padded_shape(tuple(self.shape), pad)
    for pair in range(len(pad) // 2):
        dim = len(self.shape) - 1 - pair
        before, after = pad[2 * pair], pad[2 * pair + 1]
        size = self.shape[dim]
        if before > size or after > size:
            raise RuntimeError(f"circular padding {before}, {after} wraps around dimension {dim} more than once")
        if before < 0 or after < 0:
            self = aten.slice(self, dim, -before if before < 0 else 0, size + after if after < 0 else size)
            size = self.shape[dim]
        parts = [aten.slice(self, dim, size - before, size)] if before > 0 else []
        parts += [self, aten.slice(self, dim, 0, after)] if after > 0 else [self]
        self = aten.cat(parts, dim) if len(parts) > 1 else self
    return aten.clone(self, memory_format=opwright.contiguous_format) if not any(p > 0 for p in pad) else self


def _chunk_cat(tensors: Sequence[Operand], dim: int, num_chunks: int) -> Operand:
    """Return rows of `num_chunks`: each tensor is filled up with zeros and cut along `dim`, and what rows have of each
    is laid side by side."""
    aten = opwright.ops.aten
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat expects positive num_chunks, but got {num_chunks}")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    ndims = sorted({len(each.shape) for each in tensors})
    if dim >= ndims[0] or (dim < 0 and len(ndims) > 1):
        raise RuntimeError(f"_chunk_cat expects a dim that all tensors have from the front, but got {dim} for {ndims}")
    if not all(holds(each.shape[dim] > 0) for each in tensors):
        raise RuntimeError("_chunk_cat expects tensors that are not empty along dim")
    dim = layouts.wrap_dim(dim, ndims[0])
    return aten.cat([_in_chunks(each, dim, num_chunks) for each in tensors], dim + 1)


def _in_chunks(tensor: Operand, dim: int, count: int) -> Operand:
    aten = opwright.ops.aten
    if not tensor.ndim:
        raise RuntimeError("_chunk_cat expects tensors of at least one dimension")
    after = [0, 0] * (tensor.ndim - dim - 1)
    filled = aten.constant_pad_nd(tensor, [*after, 0, -tensor.shape[dim] % count])
    return aten.reshape(filled, [*tensor.shape[:dim], count, -1])
