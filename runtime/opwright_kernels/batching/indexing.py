"""Indexing by tensors of positions, or by masks, where these may be batched, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.arrays.dtypes import bool_, uint8
from opwright_core.arrays.layouts import broadcast_shapes
from opwright_kernels.batching.operands import Operand, every, first, sample_numbers, spread

__all__ = ["index", "index_put", "masked_select"]

Indices = Sequence[Operand | None]


def index(info: Any, in_dims: Any, self: Operand, indices: Indices) -> Any:
    """Return the elements at positions. Raises RuntimeError for a batched mask: samples would differ in shape."""
    aten = opwright.ops.aten
    dims = _dims_of(in_dims, indices)
    if all(dim is None for dim in dims):
        found = aten.index.Tensor(first(self, in_dims[0]), [None, *indices])
        at = _indexed_dims(indices)
        ranks = [1 if _is_mask(each) else each.ndim for each in indices if each is not None]
        return found, 0 if _is_adjacent(at) else max(ranks)
    positions = _positions(indices, dims, "index")
    at = _indexed_dims(positions)
    if in_dims[0] is None:
        return aten.index.Tensor(self, positions), at[0] if _is_adjacent(at) else 0
    count = _count_of(positions)
    found = aten.index.Tensor(first(self, in_dims[0]), [sample_numbers(info, self, count), *positions])
    if at[0] and _is_adjacent(at):
        # The number of the sample stands apart from them, so that their dimensions came first.
        found = aten.movedim.intlist(found, *_moves(at[0], count))
    return found, 0


def index_put(
    info: Any, in_dims: Any, self: Operand, indices: Indices, values: Operand, accumulate: bool = False
) -> Any:
    """Return `self` with values at positions. Raises RuntimeError for a batched mask, unless it is the only index and
    there is one value."""
    aten = opwright.ops.aten
    dims = _dims_of(in_dims, indices)
    if len(indices) == 1 and dims[0] is not None and _is_mask(indices[0]) and not accumulate:
        own = values.shape if in_dims[2] is None else first(values, in_dims[2]).shape[1:]
        if all(size == 1 for size in own):
            return _filled_by_mask(info, in_dims, dims[0], self, indices[0], values), 0
    positions = _positions(indices, dims, "index_put")
    at = _indexed_dims(positions)
    count = _count_of(positions) + (0 if any(dim is not None for dim in dims) else 1)
    value = every(info, self, in_dims[0])
    given = first(values, in_dims[2]) if in_dims[2] is not None else aten.unsqueeze(values, 0)
    given = spread(given, value.ndim - 1 - len(at) + count)
    if at[0] and _is_adjacent(at):
        given = aten.movedim.intlist(given, *reversed(_moves(at[0], count)))
    return aten.index_put(value, [sample_numbers(info, self, count), *positions], given, accumulate), 0


def _filled_by_mask(info: Any, in_dims: Any, dim: int, self: Operand, mask: Any, values: Operand) -> Operand:
    aten = opwright.ops.aten
    value = every(info, self, in_dims[0])
    mask = first(mask, dim).to(bool_)
    mask = aten.reshape(mask, [*mask.shape, *[1] * (value.ndim - mask.ndim)])
    size = info.batch_size if in_dims[2] is not None else 1
    given = aten.reshape(first(values, in_dims[2]), [size, *[1] * (value.ndim - 1)])
    return aten.where.self(mask, given.to(value.dtype), value)


def _dims_of(in_dims: Any, indices: Indices) -> list[int | None]:
    return in_dims[1] if isinstance(in_dims[1], list) else [None] * len(indices)


def _is_mask(each: Operand | None) -> bool:
    return each is not None and each.dtype in (bool_, uint8)


def _positions(indices: Indices, dims: Sequence[int | None], name: str) -> list[Operand | None]:
    """Return positions, with the batch first where they have one, all of one number of dimensions after it."""
    found: list[tuple[Operand | None, bool]] = []
    for each, dim in zip(indices, dims, strict=True):
        if not _is_mask(each):
            found.append((None if each is None else first(each, dim), dim is not None))
        elif dim is not None:
            raise RuntimeError(
                f"vmap: {name} with a batched mask: It looks like you're attempting to use an operator whose output "
                "shape differs from sample to sample (dynamic shape). Choose with opwright.where in its place"
            )
        else:
            found += [(part, False) for part in each.nonzero(as_tuple=True)]  # type: ignore[union-attr]
    most = max([each.ndim - is_own for each, is_own in found if each is not None], default=0)
    return [spread(each, most) if is_own else each for each, is_own in found]


def _indexed_dims(positions: Indices) -> list[int]:
    return [position for position, each in enumerate(positions) if each is not None] or [0]


def _is_adjacent(at: Sequence[int]) -> bool:
    return at[-1] - at[0] == len(at) - 1


def _count_of(positions: Indices) -> int:
    """Return the number of dimensions of a sample's positions; one less for those without a batch."""
    return max([each.ndim for each in positions if each is not None], default=1) - 1


def _moves(start: int, count: int) -> tuple[list[int], list[int]]:
    """Return where the dimensions of positions are after the batch, and where samples have them."""
    return list(range(1, count + 1)), list(range(start + 1, start + count + 1))


def masked_select(info: Any, in_dims: Any, self: Operand, mask: Operand) -> Any:
    """Return the elements that a mask chooses, the same one for all samples. Raises RuntimeError for a batched mask."""
    aten = opwright.ops.aten
    if in_dims[1] is not None:
        raise RuntimeError(
            "vmap: masked_select with a batched mask: We do not support batching operators that can output dynamic "
            "shape: samples would differ in shape. Choose with opwright.where in its place"
        )
    value = spread(first(self, in_dims[0]), mask.ndim)
    sizes = broadcast_shapes([tuple(value.shape[1:]), tuple(mask.shape), (1,)])
    value = spread(value, 1)
    chosen = aten.expand(mask, list(sizes))
    return aten.index.Tensor(aten.expand(value, [info.batch_size, *sizes]), [None, chosen]), 0
