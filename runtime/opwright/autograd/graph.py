"""`torch.autograd.graph`'s names: nodes to look at, and what may be done to a graph while it is built."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.autograd.nodes import AccumulateGrad, Node
from opwright.autograd.recording import increment_version as _increment_version
from opwright.autograd.saved import saved_tensors_hooks
from opwright.tensor import Tensor

__all__ = ["AccumulateGrad", "Node", "increment_version", "saved_tensors_hooks"]


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to a tensor, or to each of several, that was made without an operator. Inference tensors have no
    count."""
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _increment_version(each)
