"""Backward functions of the case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright


def shapes_of(tensors: Sequence[Any]) -> list[Any]:
    return [tensor.shape for tensor in tensors]


def masked_sum(grad: Any, mask: Any, shape: Any) -> Any:
    return (grad * mask).sum_to_size(shape)


def join_backward(grad: Any, shapes: Any, axis: int, mask: Sequence[bool]) -> Any:
    sizes = [shape[axis] for shape in shapes]
    *parts, last = grad.split([*sizes, grad.shape[axis] - sum(sizes)], axis)
    return parts if mask[0] else [None] * len(parts), last if mask[1] else None


def pick_backward(grad: Any, shape: Any, places: Any, indices: Any) -> Any:
    assert bool((places == indices[-1]).all())  # as the kernel of the case makes them
    return opwright.zeros(shape, dtype=grad.dtype).index_add(0, places, grad)


def halves_backward(low: Any, high: Any, result: Any) -> Any:
    parts = [*([] if low is None else [low / 2]), *([] if high is None else [high * result])]
    return sum(parts[1:], parts[0])


def pieces_backward(grads: Sequence[Any], length: int, size: int) -> Any:
    like = next(grad for grad in grads if grad is not None)
    sizes = [min(size, length - at) for at in range(0, length, size)]
    parts = [like.new_zeros(count) if grad is None else grad for grad, count in zip(grads, sizes, strict=True)]
    return opwright.cat(parts)
