"""The reach of a backward pass: nodes behind its roots, those that lead to targets, gradients that leaves get."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from opwright.autograd.nodes import AccumulateGrad, Edge, Node

__all__ = ["count_uses", "leading_to", "reachable"]

_SEQUENCE: Final = attrgetter("sequence")


def leading_to(targets: set[Node], roots: Iterable[Edge]) -> set[Node]:
    """Return the nodes from which a target can be reached, and the targets."""
    following = _following(roots)
    needed = set(targets)
    for node in sorted(following, key=_SEQUENCE):  # ascending: a node's edges lead to those before it
        if not needed.isdisjoint(following[node]):
            needed.add(node)
    return needed


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
    return set(_following(roots))


def _following(roots: Iterable[Edge]) -> dict[Node, list[Node]]:
    """Return the nodes that gradients flow to from each node that can be reached."""
    found: dict[Node, list[Node]] = {}
    stack = [edge[0] if type(edge) is tuple else edge for edge in roots]
    while stack:
        node = stack.pop()
        if node not in found:
            nodes = [edge[0] if type(edge) is tuple else edge for edge in node.edges if edge is not None]
            found[node] = nodes
            stack += nodes
    return found
