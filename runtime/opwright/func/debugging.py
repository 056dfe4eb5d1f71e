"""The values behind tensors of transforms, for debuggers. Semantics: `torch.func.debug_unwrap`."""

from __future__ import annotations

from opwright.levels.inside import InsideArray, value_of
from opwright_core.tensors.tensor import Tensor

__all__ = ["debug_unwrap"]


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return the tensor that a tensor of a transform stands for, of a batch all samples; itself for any other tensor.

    Without `recurse` it is that of the innermost transform alone. What is computed from it is no part of the transform.
    """
    while isinstance(tensor.array, InsideArray):
        tensor = value_of(tensor)
        if not recurse:
            break
    return tensor
