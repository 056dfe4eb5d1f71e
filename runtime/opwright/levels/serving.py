"""Answers of this room to lower ones (`opwright.hooks.Levels`)."""

from __future__ import annotations

from opwright.levels.inside import InsideArray
from opwright.levels.kernels import back_of, front_of
from opwright.tensors.tensor import Tensor

__all__ = ["back_of", "front_of", "read"]


def read(tensor: Tensor, what: str) -> Tensor:
    """Return the tensor of no level whose data a tensor of a level has; itself, if it is of none. `what` wants it."""
    while isinstance(tensor.array, InsideArray):
        tensor = tensor.array.level.read(tensor, what)
    return tensor
