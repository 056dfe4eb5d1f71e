"""Hooks on the gradients of several tensors, and edges of the graph to differentiate by."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from opwright.autograd.engine import current_pass
from opwright.autograd.hooks import RemovableHandle
from opwright.autograd.nodes import Edge, MultipleOutputs, Node, node_of, number_of
from opwright_core.tensors.tensor import Tensor

__all__ = ["GradientEdge", "edge_of", "get_gradient_edge", "register_multi_grad_hook"]


class GradientEdge(NamedTuple):
    """A position where a gradient flows: a node, and the number of its output. `grad` and `backward` take it for a
    tensor."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return where the gradient of a tensor flows; of a leaf, its AccumulateGrad. Raises RuntimeError for one that does
    not require grad."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(node_of(tensor.edge), number_of(tensor.edge))


def edge_of(edge: GradientEdge) -> Edge:
    """Return the edge as the graph keeps it."""
    return (edge.node, edge.output_nr) if isinstance(edge.node, MultipleOutputs) else edge.node


class _Handles(RemovableHandle):
    """The hooks of several tensors, removed together."""

    __slots__ = ("_all",)

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._all = tuple(handles)

    def remove(self) -> None:
        """Take the hooks back."""
        for handle in self._all:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle:
    """Call `fn(gradients)` once in each backward pass, when the gradients of all tensors that it computes are there
    (None for the others); with `mode="any"`, `fn(gradient)` when the first is. What it returns is not looked at.

    Raises ValueError for another mode, RuntimeError for a tensor that does not require grad.
    """
    if mode == "any":
        call = _AnyGradient(fn)
        return _Handles([tensor.register_hook(call) for tensor in tensors if tensor.requires_grad])
    if mode != "all":
        raise ValueError(f"mode is 'all' or 'any', got {mode!r}")
    return _Handles(_AllGradients(tensors, fn).register())


class _AnyGradient:
    """A hook that calls a function at the first gradient of each pass."""

    def __init__(self, fn: Callable[[Any], None]) -> None:
        self._fn = fn
        self._seen = -1
        self._lock = threading.Lock()

    def __call__(self, grad: Tensor) -> None:
        current = current_pass()
        with self._lock:
            is_first, self._seen = self._seen != current.number, current.number
        if is_first:
            self._fn(grad)


class _AllGradients:
    """Hooks that call a function when the last gradient of a pass is there."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[Any], None]) -> None:
        self._tensors = tensors
        self._fn = fn
        self._edges = [get_gradient_edge(tensor) for tensor in tensors]
        self._lock = threading.Lock()
        self._found: dict[int, list[Tensor | None]] = {}
        self._left: dict[int, int] = {}

    def register(self) -> list[RemovableHandle]:
        """Register a hook on each tensor."""
        handles = [tensor.register_hook(self._hook(position)) for position, tensor in enumerate(self._tensors)]
        self._tensors = ()
        return handles

    def _hook(self, position: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            current = current_pass()
            key = current.number
            with self._lock:
                if key not in self._left:
                    reached = current.reached()
                    self._left[key] = sum(edge.node in reached for edge in self._edges)
                    self._found[key] = [None] * len(self._edges)
                self._found[key][position] = grad
                self._left[key] -= 1
                if self._left[key]:
                    return
                del self._left[key]
                found = self._found.pop(key)
            self._fn(found)

        return hook
