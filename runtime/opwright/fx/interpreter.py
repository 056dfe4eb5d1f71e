"""Interpreter: runs a graph node by node; Transformer: makes another graph of it while doing so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opwright.fx.graph import Graph
from opwright.fx.graph_module import GraphModule
from opwright.fx.node import Node, map_arg
from opwright.fx.trees import flatten_as, tree_unflatten

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """A run of a graph, node by node: subclasses say what is done for each kind, by its method's name.

    `env` has the values of nodes that somebody still reads. An exception says in a note which node it comes from.
    Semantics: `torch.fx.Interpreter`.
    """

    def __init__(self, module: GraphModule, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.graph = module.graph if graph is None else graph
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.args_iter: Iterator[Any] = iter(())

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph. `initial_env` has values of nodes that are known already; with `enable_io_processing` trees of
        arguments are taken apart, and the result is put together."""
        trees = self.graph.trees if enable_io_processing else None
        self.env = dict(initial_env or {})
        self.args_iter = iter(args if trees is None or trees.in_spec is None else flatten_as(args, trees.in_spec))
        left = {node: len(node.users) for node in self.graph.nodes}
        for node in self.graph.nodes:
            if node not in self.env:
                self.env[node] = self._run_noted(node)
            if node.op == "output":
                found = self.env[node]
                return found if trees is None or trees.out_spec is None else tree_unflatten(found, trees.out_spec)
            if self.garbage_collect_values:
                self._forget(node, left)
        return None

    def _run_noted(self, node: Node) -> Any:
        try:
            return self.run_node(node)
        except Exception as error:
            error.add_note(f"While running the node {node.format_node()}")
            raise

    def _forget(self, node: Node, left: dict[Node, int]) -> None:
        """Drop the values that nobody reads after this node."""
        for read in node.all_input_nodes:
            left[read] -= 1
            if not left[read]:
                self.env.pop(read, None)

    def run_node(self, n: Node) -> Any:
        """Run one node, and return its value."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the next argument, or the default of this one. Raises RuntimeError where there is neither."""
        if target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"an argument is missing: the graph's input {target}")

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return an attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an attribute of the module."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return an attribute of the module by its path."""
        found: Any = self.module
        for part in target.split("."):
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return a node's arguments, with values instead of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Return arguments with values instead of nodes."""

        def load(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"{n.name} reads {node.name}, which has no value (yet)")
            return self.env[node]

        return map_arg(args, load)


class Transformer(Interpreter):
    """A run of a graph on nodes of a new one: what the methods return stands there for the node.

    As they are, they copy. `call_function` and its like are given nodes of the new graph as arguments. Semantics:
    `torch.fx.Transformer`, whose methods are given proxies.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.trees = module.graph.trees

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add an input."""
        default = {"default_value": args[0]} if args else {}
        return self.new_graph.placeholder(target, **default)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add what reads an attribute."""
        return self.new_graph.get_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add a call."""
        return self.new_graph.call_function(target, args, kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add a call of a method."""
        return self.new_graph.call_method(target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add a call of an attribute."""
        return self.new_graph.call_module(target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return the module of the new graph."""
        for node in self.graph.nodes:
            if node.op == "output":
                self.new_graph.output(self.map_nodes_to_values(node.args[0], node))
            else:
                made = self.env[node] = self.run_node(node)
                if isinstance(made, Node) and not made.meta:
                    made.meta = dict(node.meta)
        made = GraphModule(self.module, self.new_graph)
        made.guards, made.shape_env = self.module.guards, self.module.shape_env
        return made
