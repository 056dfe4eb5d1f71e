"""From a kernel's answer to the tensor that an operator returns; the tensors among several values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy import ndarray

from opwright.keys import DENSE_CPU
from opwright.metadata import Plan
from opwright.overlap import may_share
from opwright.tensor import Tensor, wrap

__all__ = ["new_result", "share_memory", "tensors_of"]


def new_result(plan: Plan, answer: Any) -> Tensor:
    """A new tensor of the answer as the plan says, whose keys need not be found out again.

    Raises RuntimeError if the answer has another shape.
    """
    array = plan.lay_out(answer)
    if type(array) is not ndarray:
        return wrap(array)
    made = Tensor()
    made.array = array
    made.keys = DENSE_CPU | plan.form.odd
    made.edge = None
    made.extra = None
    return made


def tensors_of(values: Any) -> Iterator[Tensor]:
    """The tensors among values, and in lists and tuples among them."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_of(value)


def share_memory(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors lie over one storage, or over memory that meets."""
    if first is second or first.array is second.array:
        return True
    own, other = first.extra, second.extra
    if own is not None and other is not None and own.storage is not None and own.storage is other.storage:
        return True
    return may_share(first.array, second.array)
