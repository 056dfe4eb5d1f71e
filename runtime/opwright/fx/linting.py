"""Checks that a graph is well made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opwright.fx.graph import Graph
    from opwright.fx.node import Node

__all__ = ["lint"]


def lint(graph: Graph) -> None:
    """Raise RuntimeError for the first thing that is wrong with a graph."""
    seen: dict[Node, None] = {}
    names: set[str] = set()
    for node in graph.nodes:
        _check_node(graph, node, seen)
        if node.name in names:
            raise RuntimeError(f"two nodes are called {node.name}")
        if node.op == "output" and node.next is not graph._root:
            raise RuntimeError(f"{node.next.name} comes after the output, and never runs")
        if node.op == "placeholder" and any(each.op not in ("placeholder", "get_attr") for each in seen):
            raise RuntimeError(f"the input {node.name} comes after calls: inputs are first")
        if node.op in ("get_attr", "call_module") and graph.owning_module is not None:
            _check_attribute(graph.owning_module, node)
        seen[node] = None
        names.add(node.name)


def _check_node(graph: Graph, node: Node, seen: dict[Node, None]) -> None:
    if node.graph is not graph:
        raise RuntimeError(f"{node.name} says that it belongs to another graph")
    for read in node.all_input_nodes:
        if read.graph is not graph:
            raise RuntimeError(f"{node.name} reads {read.name}, which is a node of another graph")
        if read not in seen:
            raise RuntimeError(f"{node.name} reads {read.name}, which does not come before it")
        if node not in read.users:
            raise RuntimeError(f"{node.name} reads {read.name}, but is not among its users")
    for user in node.users:
        if node not in user.all_input_nodes:
            raise RuntimeError(f"{user.name} is among the users of {node.name}, but does not read it")


def _check_attribute(module: Any, node: Node) -> None:
    found = module
    for part in str(node.target).split("."):
        if not hasattr(found, part):
            raise RuntimeError(f"{node.name} reads the attribute {node.target}, which the module does not have")
        found = getattr(found, part)
