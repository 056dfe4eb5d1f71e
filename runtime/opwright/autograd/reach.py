"""The reach of a backward pass: nodes behind its roots, those that lead to targets, gradients that leaves get."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.autograd.nodes import AccumulateGrad, Edge, Node, node_of

__all__ = ["count_uses", "leading_to", "reachable"]


def leading_to(targets: set[Node], roots: Iterable[Edge]) -> set[Node]:
    """Return the nodes from which a target can be reached, and the targets."""
    order = sorted(reachable(roots), key=_sequence)
    needed = set(targets)
    for node in order:  # ascending: a node's edges lead to those before it
        if any(edge is not None and node_of(edge) in needed for edge in node.edges):
            needed.add(node)
    return needed


def _sequence(node: Node) -> int:
    return node.sequence


def count_uses(roots: Iterable[Edge]) -> dict[AccumulateGrad, int]:
    """Return how many gradients each leaf gets."""
    uses: dict[AccumulateGrad, int] = {}
    roots = list(roots)
    for edges in (roots, *(node.edges for node in reachable(roots))):
        for edge in edges:
            if type(edge) is AccumulateGrad:
                uses[edge] = uses.get(edge, 0) + 1
    return uses


def reachable(roots: Iterable[Edge]) -> set[Node]:
    """Return the nodes of roots, and all that gradients flow to from there."""
    found = {node_of(edge) for edge in roots}
    stack = list(found)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                node = node_of(edge)
                if node not in found:
                    found.add(node)
                    stack.append(node)
    return found
