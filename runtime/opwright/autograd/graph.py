"""`torch.autograd.graph`'s names: nodes to look at, and what may be done to a graph while it is built."""

from __future__ import annotations

from opwright.autograd.nodes import AccumulateGrad, Node
from opwright.autograd.recording import increment_version
from opwright.autograd.saved import saved_tensors_hooks

__all__ = ["AccumulateGrad", "Node", "increment_version", "saved_tensors_hooks"]
