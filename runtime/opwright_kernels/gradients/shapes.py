"""Backward functions of views, of operators that rearrange or pad, and of indexing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import opwright
from opwright.autograd.quick import is_array_alone
from opwright.metadata.view_layouts import may_meet
from opwright_core.tensors.tensor import wrap

Tensor = Any
aten = opwright.ops.aten


def shapes_of(tensors: Sequence[Tensor]) -> list[tuple[int, ...]]:
    """Return the shape of each tensor."""
    return [tuple(tensor.shape) for tensor in tensors]


def dtypes_of(tensors: Sequence[Tensor]) -> list[Any]:
    """Return the dtype of each tensor."""
    return [tensor.dtype for tensor in tensors]


# Views


def permute_backward(grad: Tensor, dims: Sequence[int]) -> Tensor:
    """Return the value with its dimensions back in their order."""
    ndim = len(dims)
    order = [dim % ndim for dim in dims]
    return aten.permute(grad, [order.index(position) for position in range(ndim)])


def reshape_alias_backward(
    grad: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int, size: Sequence[int], stride: Sequence[int]
) -> Tensor:
    """Reshape back, as in PyTorch; for a view with more or fewer elements, return what as_strided's gradient is."""
    if math.prod(shape) == math.prod(size):
        return aten.reshape(grad, shape)
    return as_strided_backward(grad, shape, strides, offset, size, stride, offset)


def as_strided_backward(
    grad: Tensor,
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Tensor:
    """Return the gradients of all views of a position in memory, added; shared out where the operand has the position
    several times."""
    length, own, there = _positions(grad.device, shape, strides, offset, size, stride, storage_offset)
    if 0 in size:
        return aten.new_zeros(grad, shape)
    memory = aten.put(aten.new_zeros(grad, [length]), there, grad, True)
    if may_meet(tuple(shape), tuple(strides)):
        times = aten.put(aten.new_zeros(memory, [length]), own, aten.new_ones(memory, shape), True)
        memory = memory / aten.clamp_min(times, 1)
    return aten.take(memory, own)


def as_strided_scatter_backward(
    grad: Tensor,
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
    grad_input_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of the tensor, 0 where it is written over, and of what is written."""
    length, own, there = _positions(grad.device, shape, strides, offset, size, stride, storage_offset)
    memory = aten.put(aten.new_zeros(grad, [length]), own, grad)
    kept = aten.put(memory, there, aten.new_zeros(grad, there.shape)) if grad_input_mask[0] else None
    return None if kept is None else aten.take(kept, own), aten.take(memory, there) if grad_input_mask[1] else None


def _positions(
    device: Any,
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> tuple[int, Tensor, Tensor]:
    """Return how long the memory of a tensor and an `as_strided` of it is, and where in it their elements are."""
    start = offset if storage_offset is None else storage_offset
    first = min(start, offset)
    length = max(_extent(size, stride) + start, _extent(shape, strides) + offset) - first
    positions = aten.arange(length, device=device)
    return (
        length,
        aten.as_strided(positions, shape, strides, offset - first),
        aten.as_strided(positions, size, stride, start - first),
    )


def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    return 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if 0 not in shape else 0


def split_with_sizes_backward(
    grads: Sequence[Tensor | None], shape: Sequence[int], sizes: Sequence[int], dim: int
) -> Tensor | None:
    """Return the gradients of the pieces joined, zeros for those that have none."""
    given = next((grad for grad in grads if grad is not None), None)
    if given is None:
        return None
    dim = dim % len(shape)
    found: list[Any] = list(grads)
    if all(is_array_alone(grad) and grad.array.flags.c_contiguous for grad in found):
        return wrap(np.concatenate([grad.array for grad in found], dim))
    pieces = [
        aten.new_zeros(given, [*shape[:dim], size, *shape[dim + 1 :]]) if grad is None else grad
        for grad, size in zip(grads, sizes, strict=True)
    ]
    return aten.cat(pieces, dim)


def split_backward(grads: Sequence[Tensor | None], shape: Sequence[int], size: int, dim: int) -> Tensor | None:
    """Return the gradients of pieces of one size and a smaller last one joined, zeros for those that have none."""
    rest = shape[dim] - (len(grads) - 1) * size
    return split_with_sizes_backward(grads, shape, [*[size] * (len(grads) - 1), rest], dim)


def unbind_backward(grads: Sequence[Tensor | None], dim: int) -> Tensor | None:
    """Return the gradients of the slices stacked."""
    given = next((grad for grad in grads if grad is not None), None)
    if given is None:
        return None
    return aten.stack([aten.zeros_like(given) if grad is None else grad for grad in grads], dim)


# Joining, repeating, padding


def cat_backward(grad: Tensor, shapes: Sequence[Sequence[int]], dim: int) -> list[Tensor]:
    """Return the piece of each tensor; one of shape (0,) is joined with anything, and has none."""
    ndim = grad.ndim
    sizes = [0 if len(shape) == 1 and shape[0] == 0 and ndim != 1 else shape[dim] for shape in shapes]
    if is_array_alone(grad) and all(len(shape) == ndim for shape in shapes):
        return [wrap(piece) for piece in np.split(grad.array, np.cumsum(sizes[:-1]), dim)]
    pieces = aten.split_with_sizes(grad, sizes, dim)
    return [
        aten.new_zeros(grad, shape) if len(shape) != ndim else piece
        for piece, shape in zip(pieces, shapes, strict=True)
    ]


def block_diag_backward(grad: Tensor, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """Return the block of each tensor; one with fewer than two dimensions is a row."""
    found = []
    row = column = 0
    for shape in shapes:
        height, width = [1, 1, *shape][-2:]
        block = aten.narrow(aten.narrow(grad, 0, row, height), 1, column, width)
        found.append(aten.reshape(block, shape))
        row, column = row + height, column + width
    return found


def repeat_backward(grad: Tensor, shape: Sequence[int], repeats: Sequence[int]) -> Tensor:
    """Return the gradients of all repetitions, added."""
    extra = len(repeats) - len(shape)
    inner: list[int] = list(repeats[:extra])
    summed = list(range(extra))
    for times, size in zip(repeats[extra:], shape, strict=True):
        summed.append(len(inner))
        inner += [times, size]
    if not summed:
        return grad
    if 0 in inner[:extra] or 0 in repeats:
        return aten.new_zeros(grad, shape)
    return aten.sum(aten.reshape(grad, inner), summed)


def roll_backward(grad: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int]) -> Tensor:
    """Roll the gradient back."""
    shifts = [shifts] if isinstance(shifts, int) else shifts
    return aten.roll(grad, [-shift for shift in shifts], dims)


def narrow_backward(grad: Tensor, shape: Sequence[int], dim: int, start: int) -> Tensor:
    """Return the gradient instead, zeros around it."""
    start = start + shape[dim] if start < 0 else start
    return aten.slice_scatter(aten.new_zeros(grad, shape), grad, dim, start, start + grad.shape[dim])


def constant_pad_backward(grad: Tensor, pad: Sequence[int]) -> Tensor:
    """Return the gradient without the padding; with zeros for what was cut."""
    return aten.constant_pad_nd(grad, [-each for each in pad], 0)


def pad_backward(grad: Tensor, shape: Sequence[int], padding: Sequence[int], mode: str) -> Tensor:
    """Return the gradients of all copies of an element, added, dimension by dimension."""
    for position in range(len(padding) // 2):
        dim = len(shape) - 1 - position
        before, size = padding[2 * position], shape[dim]
        positions = aten.arange(grad.shape[dim], device=grad.device) - before
        if mode == "reflect":
            positions = aten.abs(positions)
            positions = size - 1 - aten.abs(size - 1 - positions)
        else:
            positions = aten.clamp(positions, 0, size - 1)
        target = [*grad.shape[:dim], size, *grad.shape[dim + 1 :]]
        grad = aten.index_add(aten.new_zeros(grad, target), dim, positions, grad)
    return grad


def linspace_backward(grad: Tensor, steps: int, mask: Sequence[bool]) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of both ends: each number is their mean, with weights that go from one to the other."""
    weights = aten.arange(steps, dtype=grad.dtype, device=grad.device) / max(steps - 1, 1)
    of_start = aten.sum(grad * (1 - weights)) if mask[0] else None
    return of_start, aten.sum(grad * weights) if mask[1] else None


def logarithm(base: float) -> float:
    """Return the logarithm of a base: NaN below 0, minus infinity at 0."""
    return math.log(base) if base > 0 else math.nan if base < 0 else -math.inf


def logspace_backward(
    grad: Tensor, result: Tensor, steps: int, base: float, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of both ends of powers of `base`, whose exponents are means of the ends."""
    return linspace_backward(grad * aten.conj(result) * logarithm(base), steps, mask)


# Indexing


def index_select_backward(grad: Tensor, shape: Sequence[int], dim: int, index: Tensor) -> Tensor:
    """Return the gradients of all copies of a slice, added."""
    if not len(shape):
        return aten.reshape(aten.sum(grad), [])
    return aten.index_add(aten.new_zeros(grad, shape), dim, aten.reshape(index, [-1]), grad)


def index_source_backward(grad: Tensor, dim: int, index: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the gradient at the slices that were written."""
    if grad.ndim and not len(shape):
        return aten.reshape(aten.index_select(grad, dim, aten.reshape(index, [-1])), [])
    return aten.index_select(grad, dim, index).expand(shape)


def scatter_source_backward(grad: Tensor, dim: int, index: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the gradient at the elements that were written; zeros where the index does not reach the source."""
    if 0 in index.shape:  # of any number of dimensions
        return aten.new_zeros(grad, shape)
    found = aten.gather(grad, dim, index)
    if tuple(found.shape) == tuple(shape):
        return found
    pad = [each for have, want in zip(found.shape, shape, strict=True) for each in (want - have, 0)]
    return aten.constant_pad_nd(found, pad[::-1], 0)
