"""Filling with a number that each sample may have its own of, and operators that look for elements in others."""

from __future__ import annotations

from typing import Any

import opwright
from opwright_kernels.batching.operands import Operand, every, first, flattened, rank, spread

__all__ = ["bucketize", "fill", "isin", "masked_fill", "pad", "roll", "searchsorted", "trace"]


def fill(info: Any, in_dims: Any, self: Operand, value: Operand) -> Any:
    """Return `self` filled with the value of each sample."""
    aten = opwright.ops.aten
    if rank(value, in_dims[1]):
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {rank(value, in_dims[1])} dimensions."
        )
    target = every(info, self, in_dims[0])
    if in_dims[1] is None:
        return aten.fill.Tensor(target, value), 0
    return aten.copy(target, spread(first(value, in_dims[1]), target.ndim - 1)), 0


def masked_fill(info: Any, in_dims: Any, self: Operand, mask: Operand, value: Operand) -> Any:
    """Return `self` with the value of each sample where a mask is true."""
    aten = opwright.ops.aten
    if rank(value, in_dims[2]):
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{rank(value, in_dims[2])} dimension(s)."
        )
    target, chosen = every(info, self, in_dims[0]), every(info, mask, in_dims[1])
    ndim = max(target.ndim, chosen.ndim) - 1
    target, chosen = spread(target, ndim), spread(chosen, ndim)
    if in_dims[2] is None:
        return aten.masked_fill.Tensor(target, chosen, value), 0
    given = spread(first(value, in_dims[2]), ndim).to(target.dtype)
    return aten.where.self(chosen, given, target), 0


def isin(
    info: Any,
    in_dims: Any,
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Any:
    """Whether each element is one of others, which each sample may have its own of."""
    aten = opwright.ops.aten
    if in_dims[1] is None:
        return aten.isin(first(elements, in_dims[0]), test_elements, invert=invert), 0
    others = flattened(first(test_elements, in_dims[1]))
    if not isinstance(elements, opwright.Tensor):
        found = aten.any.dim(aten.eq.Scalar(others, elements), 1)
        return (aten.logical_not(found) if invert else found), 0
    value = every(info, elements, in_dims[0])
    pairs = aten.eq.Tensor(aten.unsqueeze(flattened(value), 2), aten.unsqueeze(others, 1))
    found = aten.reshape(aten.any.dim(pairs, 2), list(value.shape))
    return (aten.logical_not(found) if invert else found), 0


def searchsorted(
    info: Any,
    in_dims: Any,
    sorted_sequence: Operand,
    self: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Operand | None = None,
) -> Any:
    """Return where elements would be inserted into sequences, of which each sample may have its own."""
    aten = opwright.ops.aten
    named: dict[str, Any] = {"out_int32": out_int32, "right": right, "side": side}
    own = rank(sorted_sequence, in_dims[0])
    sequence = every(info, sorted_sequence, in_dims[0])
    if sorter is not None:
        order = sorter if sorter.ndim == own + 1 else every(info, sorter, None)
        named["sorter"] = order
    if not isinstance(self, opwright.Tensor):
        number = opwright.tensor(self, device=sequence.device).to(opwright.result_type(sequence, self))
        numbers = aten.expand(number, [info.batch_size, 1])
        if own != 1:
            raise RuntimeError("searchsorted(): a number is looked for in a sequence of one dimension")
        return aten.squeeze.dim(aten.searchsorted.Tensor(sequence, numbers, **named), 1), 0
    value = every(info, self, in_dims[1])
    if own == 1:
        found = aten.searchsorted.Tensor(sequence, flattened(value), **named)
        return aten.reshape(found, list(value.shape)), 0
    return aten.searchsorted.Tensor(sequence, value, **named), 0


def bucketize(
    info: Any, in_dims: Any, self: Any, boundaries: Operand, *, out_int32: bool = False, right: bool = False
) -> Any:
    """Return the bucket of each element, between boundaries of which each sample may have its own."""
    if in_dims[1] is None:
        value = first(self, in_dims[0])
        return opwright.ops.aten.bucketize.Tensor(value, boundaries, out_int32=out_int32, right=right), 0
    if rank(boundaries, in_dims[1]) != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({rank(boundaries, in_dims[1])})")
    swapped = (in_dims[1], in_dims[0])
    return searchsorted(info, swapped, boundaries, self, out_int32=out_int32, right=right)


def pad(info: Any, in_dims: Any, self: Operand, pad: list[int], value: Any = 0) -> Any:
    """Return samples with a frame of one value. Raises RuntimeError for more pairs of sizes than dimensions."""
    if len(pad) > 2 * rank(self, in_dims[0]):
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {rank(self, in_dims[0])} dimensions."
        )
    return opwright.ops.aten.constant_pad_nd(first(self, in_dims[0]), pad, value), 0


def roll(info: Any, in_dims: Any, self: Operand, shifts: list[int], dims: Any = ()) -> Any:
    """Return samples with their elements moved along dimensions, or in the order of memory without any."""
    aten = opwright.ops.aten
    value = first(self, in_dims[0])
    if not dims:
        if len(shifts) != 1:
            raise RuntimeError(f"roll: {len(shifts)} shifts and 0 dims do not go together")
        return aten.reshape(aten.roll(flattened(value), shifts, [1]), list(value.shape)), 0
    own = value.ndim - 1
    if 0 in value.shape[1:]:
        return value.clone(), 0
    for dim in dims:
        if not -own <= dim < own:
            raise IndexError(f"Dimension out of range: {dim} of a tensor of {own} dimensions")
    return aten.roll(value, shifts, [dim % own + 1 for dim in dims]), 0


def trace(info: Any, in_dims: Any, self: Operand) -> Any:
    """Return the sums of diagonals. Raises RuntimeError for samples that are no matrices."""
    value = first(self, in_dims[0])
    if value.ndim != 3:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {value.ndim - 1}")
    return opwright.ops.aten.sum.dim_IntList(value.diagonal(0, 1, 2), [1]), 0
