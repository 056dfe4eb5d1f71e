"""Backward functions of the case; they are never run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def shapes_of(tensors: Sequence[Any]) -> list[Any]:
    return [tensor.shape for tensor in tensors]


def masked_sum(grad: Any, mask: Any, shape: Any) -> Any:
    return (grad * mask).sum_to_size(shape)


def join_backward(grad: Any, shapes: Any, axis: int, mask: Sequence[bool]) -> Any:
    raise NotImplementedError


def pick_backward(grad: Any, shape: Any, places: Any, indices: Any) -> Any:
    raise NotImplementedError


def halves_backward(low: Any, high: Any, result: Any) -> Any:
    raise NotImplementedError


def pieces_backward(grads: Sequence[Any], length: int, size: int) -> Any:
    raise NotImplementedError
