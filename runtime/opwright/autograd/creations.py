"""Hooks that are told of each node of a graph when it is made. Semantics: `torch.autograd.graph.node_creation_hook`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Final

from opwright.autograd.nodes import Node, next_sequence, node_of
from opwright.context_managers.blocks import Block, modes_or_none
from opwright_core.keys import ANOMALY, VIEW
from opwright_core.state import MODES, NO_MODES, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["announce", "announce_those_of", "are_watched", "node_creation_hook"]

Hook = Callable[[Node], object]
_hooks: Final[ContextVar[tuple[Hook, ...]]] = ContextVar("opwright_creation_hooks", default=())
_announced: Final[ContextVar[int]] = ContextVar("opwright_announced", default=-1)  # the last node's number
_is_running: Final[ContextVar[bool]] = ContextVar("opwright_creation_hook_runs", default=False)


class node_creation_hook(Block):
    """A block in which `hook(node)` is called for each node that this thread records, with its edges, results and saved
    tensors: also for those that a backward pass with `create_graph` makes.

    Of several blocks the outermost comes first. A hook must record nothing itself (RuntimeError). AccumulateGrad nodes,
    which leaves have from the start, are not told of.
    """

    __slots__ = ("_hook",)
    _variables = (MODES, _hooks, _announced)

    def __init__(self, hook: Hook) -> None:
        super().__init__()
        if not callable(hook):
            raise TypeError(f"node_creation_hook expects a function of a node, not {type(hook).__name__}")
        self._hook = hook

    def _switch_on(self) -> None:
        modes = active_modes() or NO_MODES
        set_modes(modes_or_none(modes.include | ANOMALY, modes.mask, modes.top))
        _hooks.set((*_hooks.get(), self._hook))
        _announced.set(next_sequence())


def are_watched() -> bool:
    """Whether this thread has hooks."""
    return bool(_hooks.get())


def announce_those_of(results: Iterable[object]) -> None:
    """Call the hooks for what has made the results of a call, and for what has written to the bases of views."""
    tensors = [each for each in results if isinstance(each, Tensor)]
    bases = [each._base for each in tensors if each.keys & VIEW]
    edges = [each.edge for each in (*tensors, *bases) if each is not None and each.edge is not None]
    announce({node_of(edge) for edge in edges})


def announce(nodes: Iterable[Any]) -> None:
    """Call the hooks for those of the nodes that they were not called for, in the order in which they were made."""
    for node in sorted(nodes, key=lambda each: each.sequence):
        if node.sequence <= _announced.get():
            continue
        if _is_running.get():
            raise RuntimeError(
                "Creating a new autograd node from inside a node creation hook is not supported: hooks observe the "
                "node (record it, or register hooks on it), within no_grad() if they compute. There is a new node of "
                f"type {node.name()}"
            )
        _announced.set(node.sequence)
        try:
            _is_running.set(True)
            _call_hooks(node)
        finally:
            _is_running.set(False)


def _call_hooks(node: Node) -> None:
    for hook in _hooks.get():
        hook(node)
