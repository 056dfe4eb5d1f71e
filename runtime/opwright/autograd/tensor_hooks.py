"""Hooks of tensors, and gradients kept of those that are no leaves: both stand at the node that a tensor comes from."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from opwright.autograd.collecting import track_nodes
from opwright.autograd.hooks import RemovableHandle, add_hook
from opwright.autograd.nodes import AccumulateGrad, NoHistory, node_of, number_of
from opwright_core.tensors.tensor import Tensor

__all__ = ["register_hook", "register_post_accumulate_hook", "retain_grad", "retains_grad"]


def register_hook(tensor: Tensor, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Add a hook to the gradient of a tensor that requires grad."""
    edge = tensor.edge
    node = node_of(edge)
    if type(node) is AccumulateGrad:
        node.watch()
    elif type(node) is NoHistory:
        return add_hook(OrderedDict(), hook)  # no gradient gets there
    return add_hook(node.more().tensor_hooks.setdefault(number_of(edge), OrderedDict()), hook)


def register_post_accumulate_hook(tensor: Tensor, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Add a hook to be called when a leaf's gradient was added to."""
    leaf = tensor.edge
    if type(leaf) is NoHistory:
        return add_hook(OrderedDict(), hook)
    if leaf.post_hooks is None:
        leaf.post_hooks = OrderedDict()
        track_nodes()  # a hook may hold what leads to the leaf
    leaf.watch()
    return add_hook(leaf.post_hooks, hook)


def retain_grad(tensor: Tensor) -> None:
    """Have the gradient of a tensor that is no leaf stored in `.grad`, too."""
    edge = tensor.edge
    if edge is not None and type(edge) not in (AccumulateGrad, NoHistory):
        node_of(edge).more().retained[number_of(edge)] = weakref.ref(tensor)


def retains_grad(tensor: Tensor) -> bool:
    """Whether `retain_grad` was called on a tensor that is no leaf."""
    extra = node_of(tensor.edge).extra
    return extra is not None and number_of(tensor.edge) in extra.retained
