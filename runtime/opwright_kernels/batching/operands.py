"""Operands of rules: values of batched tensors, with the batch first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import opwright

__all__ = ["Operand", "every", "first", "flattened", "rank", "sample_numbers", "spread", "without_samples"]

Operand = Any  # a Tensor


def first(value: Operand, dim: int | None) -> Operand:
    """Return a value with its batch first; itself where it has none."""
    return value if dim is None or dim == 0 else opwright.ops.aten.movedim.int(value, dim, 0)


def every(info: Any, value: Operand, dim: int | None) -> Operand:
    """Return a value with its batch first; what has none is the same for each sample."""
    if dim is None:
        return opwright.ops.aten.expand(value, [info.batch_size, *value.shape])
    return first(value, dim)


def without_samples(function: Callable[..., Any], in_dims: Any, args: Sequence[Any]) -> tuple[Any, Any]:
    """Return the result of a rule for a batch without samples: the function is called with one of zeros."""
    given = [
        value
        if dim is None
        else value.new_zeros([size for position, size in enumerate(value.shape) if position != dim])
        for value, dim in itertools.zip_longest(args, in_dims)
    ]
    found = function(*given)
    if isinstance(found, tuple):
        return tuple([each.new_zeros([0, *each.shape]) for each in found]), tuple([0] * len(found))
    return found.new_zeros([0, *found.shape]), 0


def rank(value: Operand, dim: int | None) -> int:
    """Return the number of dimensions of a sample."""
    count: int = value.ndim
    return count if dim is None else count - 1


def flattened(value: Operand) -> Operand:
    """Return a value, whose batch is first, with one dimension for all of each sample."""
    return opwright.ops.aten.reshape(value, [value.shape[0], math.prod(value.shape[1:])])


def spread(value: Operand, ndim: int) -> Operand:
    """Return a value, whose batch is first, with sizes of 1 after it, so that a sample has `ndim` dimensions."""
    missing = ndim + 1 - value.ndim
    if missing <= 0:
        return value
    return opwright.ops.aten.reshape(value, [value.shape[0], *[1] * missing, *value.shape[1:]])


def sample_numbers(info: Any, like: Operand, ndim: int) -> Operand:
    """Return the numbers of the samples, of `ndim` dimensions after the first, each of size 1."""
    numbers = opwright.ops.aten.arange(info.batch_size, device=like.device)
    return opwright.ops.aten.reshape(numbers, [info.batch_size, *[1] * ndim])
