"""`torch.autograd.graph`'s names: nodes to look at, and what may be done to a graph while it is built."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from opwright.autograd.creations import node_creation_hook
from opwright.autograd.final_callbacks import queue_callback
from opwright.autograd.multi_grad_hooks import GradientEdge, get_gradient_edge, register_multi_grad_hook
from opwright.autograd.nodes import AccumulateGrad, Node
from opwright.autograd.recording import increment_version as _increment_version
from opwright.autograd.saved import disable_saved_tensors_hooks, saved_tensors_hooks
from opwright.names.late_bound import late_bound
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "AccumulateGrad", "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "node_creation_hook", "queue_callback", "register_multi_grad_hook",
    "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


def allow_mutation_on_saved_tensors() -> AbstractContextManager[Any]:
    """Return a block in which tensors that nodes saved may be written to: they are copied before the first write.

    Backward has to run in the same block, else it raises AssertionError. Blocks do not nest (RuntimeError). The block
    is given what it keeps, with `clear()`. A saved tensor is copied before a write to any view of its memory.
    """
    return late_bound.tools().allow_mutation()


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to a tensor, or to each of several, that was made without an operator. Inference tensors have no
    count."""
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _increment_version(each)


class save_on_cpu(saved_tensors_hooks):
    """A block in which nodes keep tensors of other devices in the CPU's memory, and bring them back for backward."""

    __slots__ = ()

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda kept: kept[1].to(kept[0]))
