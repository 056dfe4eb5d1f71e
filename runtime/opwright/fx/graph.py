"""Graph: nodes in the order in which they run, as a linked list."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

from opwright.fx.naming import Namespace, candidate_of
from opwright.fx.node import OPS, Argument, Node, Target, map_aggregate, map_arg
from opwright.fx.trees import TreeInfo
from opwright_core.dispatch.call.operator import Operator

__all__ = ["Graph", "NodeList"]


class NodeList:
    """The nodes of a graph, in order; `reversed()` gives them from the end."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._next
        while node is not root:
            if not node._erased:  # while somebody goes through the list, the node may be erased
                yield node
            node = node._next

    def __reversed__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._prev
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev

    def __len__(self) -> int:
        return self._graph._length

    def __repr__(self) -> str:
        return repr(list(self))


class _InsertPoint:
    """A block in which new nodes go before a node; without a block, from now on."""

    def __init__(self, graph: Graph, before: Node) -> None:
        self._graph = graph
        self._outer = graph._insert_before
        graph._insert_before = before

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._graph._insert_before = self._outer


class Graph:
    """A program as nodes: inputs (`placeholder`), constants (`get_attr`), calls, and one `output` at the end.

    New nodes go to the end, or where `inserting_before` or `inserting_after` says. `owning_module` is the GraphModule
    that it belongs to. `trees` says how trees of arguments and results are taken apart and put together; None where
    there are none. Semantics: `torch.fx.Graph`.
    """

    def __init__(self, owning_module: Any = None) -> None:
        self.owning_module = owning_module
        self.trees: TreeInfo | None = None
        self._root = Node(self, "", "root", "")
        self._insert_before = self._root
        self._names = Namespace()
        self._length = 0

    @property
    def owning_module(self) -> Any:
        """Return the GraphModule that has this graph, None where none has (any more)."""
        return None if self._owner is None else self._owner()

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owner = None if module is None else weakref.ref(module)

    @property
    def nodes(self) -> NodeList:
        """Return the nodes, in order."""
        return NodeList(self)

    # Nodes

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node; `name` is what it would like to be called. Raises ValueError for an `op` that there is not."""
        if op not in OPS:
            raise ValueError(f"a node is one of {', '.join(OPS)}, not {op!r}")
        found = self._names.create_name(candidate_of(op, target) if name is None else name)
        made = Node(self, found, op, target, args or (), kwargs, type_expr)
        before = self._insert_before
        last = before._prev
        last._next, made._prev = made, last
        made._next, before._prev = before, made
        self._length += 1
        return made

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an input. `default_value` makes it one that may be left out; names may begin with `*` or `**`."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, name=name.lstrip("*"), type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add what reads an attribute of the GraphModule, `weight` or `block.weight`."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a function or an operator."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of an attribute of the GraphModule that can be called."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add the output, which returns `result`."""
        return self.create_node("output", "output", (result,), name="output", type_expr=type_expr)

    def output_node(self) -> Node:
        """Return the output. Raises RuntimeError where there is none."""
        found = self._root._prev
        if found.op != "output":
            raise RuntimeError("the graph has no output: add one with graph.output(result)")
        return found

    def find_nodes(self, *, op: str, target: Target | None = None) -> list[Node]:
        """Return the nodes of a kind, those with this target if one is given."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def inserting_before(self, node: Node | None = None) -> _InsertPoint:
        """Have new nodes go before this one, for a `with` block or from now on; before the first one for None."""
        return _InsertPoint(self, self._root._next if node is None else self._own(node))

    def inserting_after(self, node: Node | None = None) -> _InsertPoint:
        """Have new nodes go after this one, in their order, for a `with` block or from now on; to the end for None."""
        return _InsertPoint(self, self._root if node is None else self._own(node)._next)

    def _own(self, node: Node) -> Node:
        if node.graph is not self:
            raise ValueError(f"{node.name} is a node of another graph")
        return node

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out. Raises RuntimeError where others read it."""
        self._own(to_erase)
        if to_erase.users:
            readers = ", ".join(user.name for user in to_erase.users)
            raise RuntimeError(f"{to_erase.name} cannot be erased: it is read by {readers}")
        if to_erase._erased:
            return
        if self._insert_before is to_erase:
            self._insert_before = to_erase._next
        before, after = to_erase._prev, to_erase._next
        before._next, after._prev = after, before  # its own links stay, for who goes through the list just now
        to_erase._erased = True
        self._length -= 1
        self._names.release(to_erase.name)
        for node in to_erase.all_input_nodes:
            node.users.pop(to_erase, None)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out the nodes that nobody reads and that may go (`Node.is_impure`); return whether there were any."""
        keeps = is_impure_node or Node.is_impure
        dead = 0
        for node in reversed(self.nodes):
            if not node.users and not keeps(node):
                self.erase_node(node)
                dead += 1
        return dead > 0

    def lint(self) -> None:
        """Raise RuntimeError where the graph is not well made: what is read comes before, names differ, users fit."""
        from opwright.fx.linting import lint

        lint(self)

    # Copies

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """Add a copy of a node, with its name where that is free; `arg_transform` says what stands here for the nodes
        that it reads."""
        name = node.name
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Add copies of the nodes of another graph but for its output; return what stands here for its result.

        `val_map` says what stands for nodes that are there already, and is filled. `return_output_node` returns the
        other graph's output beside it; None for a graph without one.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        made = type(self)()
        made.trees = self.trees
        copies: dict[Node, Node] = {}
        found = made.graph_copy(self, copies, return_output_node=True)
        if found is not None:
            result, output = found
            made.output(result, type_expr=output.type).meta = dict(output.meta)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = {node: number for number, node in enumerate(self.nodes)}
        records = [
            (
                node.op,
                node.target,
                map_arg(node.args, lambda read: NodeNumber(numbers[read])),
                map_arg(node.kwargs, lambda read: NodeNumber(numbers[read])),
                node.name,
                node.type,
                {"stack_trace": node.stack_trace} if node.stack_trace else {},
            )
            for node in self.nodes
        ]
        from opwright.fx.json_operators import operators_text

        return from_records, (records, self.trees, operators_text(self))

    # Text

    def python_code(self, root_module: str = "self") -> Any:
        """Return the graph as a function in Python (`opwright.fx.code.PythonCode`); `root_module` is what it calls the
        object that has its constants."""
        from opwright.fx.code import python_code

        return python_code(self, root_module)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        from opwright.fx.printing import table

        print(table(self))

    def __str__(self) -> str:
        from opwright.fx.printing import format_graph

        return format_graph(self)

    def _repr_html_(self) -> str:
        from opwright.fx.printing import format_html

        return format_html(self)


class NodeNumber(int):
    """A node's number in a pickled graph."""


def from_records(records: Iterable[tuple[Any, ...]], trees: TreeInfo | None, operators: Any = None) -> Graph:
    """Return the graph of what `Graph.__reduce__` says of its nodes; calls of former versions are upgraded.

    Raises ValueError where it is not known how. Graphs that were pickled before have no versions.
    """
    from opwright.fx.json_operators import SavedOperators

    saved = SavedOperators(operators or {})
    graph = Graph()
    graph.trees = trees
    nodes: list[Node] = []
    for number, (op, target, args, kwargs, name, kind, meta) in enumerate(records):
        args, kwargs = _with_nodes(args, nodes), _with_nodes(kwargs, nodes)
        if isinstance(target, Operator):
            args, kwargs = saved.upgraded(target, args, kwargs, f"node {number} ({name})")
        made = graph.create_node(op, target, args, kwargs, name, kind)
        made.meta = meta
        nodes.append(made)
    return graph


def _with_nodes(value: Any, nodes: list[Node]) -> Any:
    return map_aggregate(value, lambda item: nodes[item] if isinstance(item, NodeNumber) else item)
