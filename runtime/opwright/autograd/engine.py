"""The engine: gradients from the roots of a graph to its leaves.

A node runs when all that flows into it has arrived. Nodes are taken in descending order of `sequence`, which is such
an order (`autograd.nodes`): what waits is kept in a heap, and a chain never touches it. No recursion: a graph may be as
deep as memory allows. Everything the engine knows of one backward pass is in its `_Pass`, so that threads, and a
backward within a node's `apply`, run passes of their own.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from opwright.autograd import anomaly
from opwright.autograd.accumulate import accumulate_from
from opwright.autograd.gradients import add, fit
from opwright.autograd.hooks import call_hooks, call_prehooks, call_tensor_hooks
from opwright.autograd.modes import below_classes, with_recording, without_recording
from opwright.autograd.nodes import AccumulateGrad, Edge, Node
from opwright.autograd.reach import count_uses, leading_to, reachable
from opwright.inspection.backward_sources import name_backward
from opwright_core.state import active_modes, set_modes

__all__ = ["compiled_pass", "current_pass", "error_of_circle", "is_running", "run", "running"]

_ndarray: Final = np.ndarray
Root = tuple[Edge, Any]
_next_number: Final = itertools.count().__next__
# The pass that is running; of the compiled core's, its number and its root.
running: Final[ContextVar[Any]] = ContextVar("opwright_backward_pass", default=None)


def run(
    roots: Sequence[Root],
    *,
    keep_graph: bool,
    create_graph: bool | None,
    targets: Sequence[Edge] | None = None,
    needed: set[Node] | None = None,
    accumulates: bool = False,
) -> list[Any]:
    """Run one backward pass from `roots`, pairs of an edge and its gradient.

    Without `targets`, leaves accumulate; the result is empty. With them only what leads to a target runs: nothing
    accumulates, and the result has the gradient of each, or None; or, where the pass `accumulates`, the targets run
    too, and those that are leaves accumulate. `needed`: the nodes that lead to a target, if they are known.
    `keep_graph` keeps what nodes saved. `create_graph` records what they compute; with None the modes decide.
    """
    current = _Pass(keep_graph, targets, accumulates, needed)
    outer, outer_pass = active_modes(), running.get()
    try:  # (Note [Interrupted blocks])
        running.set(current)
        modes = outer if create_graph is None else with_recording(outer) if create_graph else without_recording(outer)
        set_modes(below_classes(modes))
        current.begin(roots)
        del roots
        current.run()
        return current.captured(targets)
    except Exception as error:
        name_backward(error)
        raise
    finally:
        try:
            set_modes(outer)
        except MemoryError:
            set_modes(outer)  # (Note [Short memory])
        finally:
            try:
                running.set(outer_pass)
            except MemoryError:
                running.set(outer_pass)


def compiled_pass(current: tuple[int, Edge]) -> _Pass:
    """Return a pass that the core runs, as Python knows one."""
    found = _Pass(True, None, False)
    found.number, *found.roots = current
    return found


def is_running() -> bool:
    """Whether a backward pass is running in this thread or task."""
    return running.get() is not None


def current_pass() -> _Pass:
    """Return the backward pass that is running. Raises RuntimeError outside of one."""
    found = running.get()
    if found is None:
        raise RuntimeError("this hook is for gradients of a backward pass, and none is running")
    return compiled_pass(found) if type(found) is tuple else found


class _Pass:
    """The state of one backward pass."""

    __slots__ = (
        "captures", "complete", "heap", "is_careful", "keep_graph", "leaves", "needed", "number", "queue", "roots",
        "targets", "uses",
    )  # fmt: skip

    def __init__(
        self, keep_graph: bool, targets: Sequence[Edge] | None, accumulates: bool, needed: set[Node] | None = None
    ) -> None:
        self.number = _next_number()
        self.roots: Sequence[Edge] = ()
        self.keep_graph = keep_graph
        self.queue: dict[int, list[Any]] = {}  # by sequence: a node and what arrived, a list for several outputs
        self.heap: list[int] = []
        self.leaves: dict[AccumulateGrad, Any] = {}
        self.complete: list[AccumulateGrad] = []  # those whose gradient is whole while nodes still wait
        self.uses: dict[AccumulateGrad, int] | None = None  # how many gradients are still to arrive, where it matters
        self.needed = needed
        self.captures: dict[tuple[Node, int], Any] | None = None
        if targets is None:
            self.targets = None
        else:
            numbered = [edge if type(edge) is tuple else (edge, 0) for edge in targets]
            self.targets = {node for node, _ in numbered}
            self.captures = None if accumulates else dict.fromkeys(numbered)
        self.is_careful = anomaly.is_on()

    def begin(self, roots: Sequence[tuple[Edge, Any]]) -> None:
        """Begin at all roots, each with the gradient that is given for it."""
        self.prepare([edge for edge, _ in roots])
        for index, (edge, grad) in enumerate(roots):
            fitted = fit(grad, edge, None, index)
            if self.needed is None or (edge[0] if type(edge) is tuple else edge) in self.needed:
                self.deliver(edge, fitted)

    def prepare(self, roots: Sequence[Edge]) -> None:
        """Look through the graph beforehand: which nodes lead to targets, or when leaves with hooks are complete."""
        self.roots = roots
        if self.targets is not None:
            self.needed = self.needed or leading_to(self.targets, roots)
        elif AccumulateGrad.watched:
            uses = count_uses(roots)
            self.uses = uses if any(leaf.has_hooks for leaf in uses) else None

    def reached(self) -> set[Node]:
        """Return the nodes whose gradients the pass computes."""
        return reachable(self.roots) if self.needed is None else self.needed

    def deliver(self, edge: Edge, grad: Any) -> None:
        """Add a gradient to what waits for a node. None counts as arrived."""
        if type(edge) is AccumulateGrad:
            self.deliver_to_leaf(edge, grad)
            return
        node = edge[0] if type(edge) is tuple else edge
        found = self.queue.get(node.sequence)
        if found is None:
            heapq.heappush(self.heap, -node.sequence)
            if node is edge:
                self.queue[node.sequence] = [node, grad]
                return
            found = self.queue[node.sequence] = [node, [None] * len(node.outputs)]
        if node is edge:
            found[1] = add(found[1], grad)
        else:
            number = edge[1]
            found[1][number] = add(found[1][number], grad)

    def deliver_to_leaf(self, leaf: AccumulateGrad, grad: Any) -> None:
        """Add a gradient to a leaf's, which runs next once it is complete, where that can be told; else at the end."""
        known = self.leaves.get(leaf)
        self.leaves[leaf] = grad if known is None else add(known, grad)
        if self.uses is not None:
            self.uses[leaf] -= 1
            if not self.uses[leaf]:
                self.complete.append(leaf)

    def finish_leaf(self, leaf: AccumulateGrad) -> None:
        """Hand on the whole gradient of a leaf. No variable holds it, so that the leaf may keep it."""
        leaves = self.leaves
        if leaf.extra is not None:
            leaves[leaf] = self.after_hooks(leaf, leaves[leaf])
        if self.captures is not None:
            self.capture(leaf, leaves.pop(leaf))
            return
        if leaf.extra is not None and leaf.extra.prehooks:
            (leaves[leaf],) = call_prehooks(leaf.extra.prehooks, (leaves[leaf],))
        grad = accumulate_from(leaves, leaf)
        if leaf.extra is not None and leaf.extra.hooks:
            call_hooks(leaf.extra.hooks, (), (grad,))  # as in PyTorch, these see the gradient that the leaf keeps

    def after_hooks(self, node: Node, grads: Any) -> Any:
        """Run tensor hooks on the gradients that reached `node`, fill the `grad` of tensors that retain it; return the
        gradients."""
        extra = node.extra
        if extra is None:
            return grads
        for number, hooks in extra.tensor_hooks.items():
            if type(grads) is list:
                grads[number] = call_tensor_hooks(hooks, grads[number])
            else:
                grads = call_tensor_hooks(hooks, grads)
        for number, reference in extra.retained.items():
            tensor = reference()
            grad = grads[number] if type(grads) is list else grads
            if tensor is not None and grad is not None:
                tensor.grad = grad.clone() if tensor.grad is None else add(tensor.grad, grad)
        return grads

    def capture(self, node: Node, grads: Any) -> None:
        """Note the gradients that reached `node`, where they are asked for."""
        if self.captures is not None:
            for number, grad in enumerate(grads if type(grads) is list else (grads,)):
                if (node, number) in self.captures:
                    self.captures[node, number] = grad

    def captured(self, targets: Sequence[Edge] | None) -> list[Any]:
        """Return the gradients of the targets."""
        if targets is None or self.captures is None:
            return []
        return [self.captures[edge if type(edge) is tuple else (edge, 0)] for edge in targets]

    def run(self) -> None:
        """Take nodes until none waits."""
        queue, heap = self.queue, self.heap
        is_plain = self.uses is None and not self.is_careful
        last: float = math.inf  # nodes come in descending order, as edges lead to older ones
        while heap:
            while self.complete:
                self.finish_leaf(self.complete.pop(0))
            number = -heapq.heappop(heap)
            node, grad = queue.pop(number)
            if number >= last:
                raise error_of_circle(node)
            last = number
            if is_plain and grad is not None and type(grad) is not list:
                self.run_chain(node, grad)
            else:
                self.run_one(node, grad)
        for leaf in dict.fromkeys((*self.complete, *self.leaves)):
            self.finish_leaf(leaf)

    def run_chain(self, node: Node, grad: Any) -> None:
        """Run a node of one output whose gradient is defined, and the next one too as long as nothing else waits."""
        leaves, heap, frees, needed, targets = self.leaves, self.heap, not self.keep_graph, self.needed, self.targets
        shape, dtype = node.shape, node.dtype  # which `grad` has
        while node.extra is None and (targets is None or node not in targets):
            edges = node.edges
            if needed is None:
                results = node.apply(grad)
            else:
                edges = [edge if (edge[0] if type(edge) is tuple else edge) in needed else None for edge in edges]
                asked: dict[str, Any] = {"edges": edges} if node.takes_edges else {}
                results = node.apply(grad, **asked)
            if frees and node.saved:
                node.release()
            following: Any = None
            following_grad: Any = None
            position = -1  # counted here: `zip` takes a third of a step
            for edge in edges:
                position += 1
                if edge is None:
                    continue
                result = results[position]
                kind = type(edge)
                if result is None or kind is tuple:
                    self.deliver(edge, None if result is None else fit(result, edge, node, position))
                    continue
                if result is grad:
                    if edge.dtype is not dtype or edge.shape != shape:
                        result = fit(result, edge, node, position)
                else:
                    try:
                        array = result.array
                    except AttributeError:  # no Tensor, which `fit` refuses
                        array = None
                    if type(array) is not _ndarray or array.dtype is not edge.dtype or array.shape != edge.shape:
                        result = fit(result, edge, node, position)
                if kind is AccumulateGrad:
                    leaves[edge] = add(leaves[edge], result) if edge in leaves else result
                elif following is None:
                    following, following_grad = edge, result
                elif edge is following:
                    following_grad = add(following_grad, result)
                else:
                    self.deliver(edge, result)
            if following is None:
                return
            if following.sequence >= node.sequence:
                raise error_of_circle(following)
            node, grad = following, following_grad
            if heap:
                self.deliver(node, grad)
                return
            shape, dtype = node.shape, node.dtype
        self.run_one(node, grad)

    def run_one(self, node: Node, grads: Any) -> None:
        """Run a node in the general way."""
        edges, results = self.run_uncommon(node, grads)
        if node.saved and not self.keep_graph:
            node.release()
        for position, (edge, result) in enumerate(zip(edges, results, strict=False)):
            if edge is not None:
                self.deliver(edge, None if result is None else fit(result, edge, node, position))

    def run_uncommon(self, node: Node, grads: Any) -> tuple[Sequence[Edge], Sequence[Any]]:
        """Run a node with hooks, with several outputs, with no gradient defined, or in a pass that looks for targets.

        The second of the results is empty where the node need not run.
        """
        edges = node.edges
        if self.needed is not None:
            needed = self.needed
            edges = [edge if (edge[0] if type(edge) is tuple else edge) in needed else None for edge in edges]
            if self.captures is not None and edges.count(None) == len(edges):
                self.capture(node, self.after_hooks(node, grads))
                return (), ()
            if self.targets and node in self.targets:
                self.capture(node, grads)  # as in PyTorch: before its hooks, where the node itself runs
        extra = node.extra
        if extra is not None:
            grads = self.after_hooks(node, grads)
        several = grads if type(grads) is list else (grads,)
        if extra is not None and extra.prehooks:
            several = call_prehooks(extra.prehooks, several)
        results: Sequence[Any]
        if not node.takes_undefined and not [grad for grad in several if grad is not None]:
            results = (None,) * len(edges)
        else:
            asked = {"edges": edges} if node.takes_edges and edges is not node.edges else {}
            results = anomaly.apply(node, several, asked) if self.is_careful else node.apply(*several, **asked)
        if extra is not None and extra.hooks:
            results = call_hooks(extra.hooks, results, several)
        return edges, results


def error_of_circle(node: Node) -> RuntimeError:
    """Return the error of a graph that somebody changed so that a pass through it would never end."""
    return RuntimeError(
        f"the graph leads to {node.name()} from itself or from an older node: edges lead to older nodes, and are not "
        "to be set"
    )
