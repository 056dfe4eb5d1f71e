"""Node: one operation of a graph, with what it reads and who reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from opwright.fx.immutable import immutable_dict, immutable_list
from opwright.fx.purity import is_impure

if TYPE_CHECKING:
    from opwright.fx.graph import Graph

__all__ = ["OPS", "Argument", "Node", "Target", "map_aggregate", "map_arg"]

Argument = Any  # nodes and constants, in nested lists, tuples, dicts and slices
Target = Callable[..., Any] | str
OPS: Final = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")


class Node:
    """An operation of a Graph; graphs make them (`Graph.call_function` and its like).

    `op` is one of "placeholder", "get_attr", "call_function", "call_method", "call_module" and "output"; `target` the
    function, or a name; `args` and `kwargs` hold nodes where results of nodes are meant; `users` are the nodes that
    read this one; `meta` is for whoever has something to say of it (`meta["val"]`: what its result looks like, a tensor
    without data). Semantics: `torch.fx.Node`.
    """

    __slots__ = (
        "_args", "_erased", "_kwargs", "_next", "_prev", "graph", "meta", "name", "op", "target", "type", "users",
    )  # fmt: skip

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...] = (),
        kwargs: dict[str, Argument] | None = None,
        return_type: Any = None,
    ) -> None:
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(f"the target of a {op} node is a name, but got {type(target).__name__} {target!r}")
        if op == "call_function" and not callable(target):
            raise ValueError(f"a call_function node has a function as its target, but got {target!r}")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased = False
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = _NO_KWARGS
        self._take(args, kwargs)

    def _take(self, args: tuple[Argument, ...], kwargs: dict[str, Argument] | None) -> None:
        """Set the arguments of a node that had none."""
        found: list[Node] = []
        self._args = tuple([_kept(value, found) for value in args])
        if kwargs:
            self._kwargs = immutable_dict({name: _kept(value, found) for name, value in kwargs.items()})
        for node in found:
            node.users.setdefault(self)

    def _set(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        for node in self.all_input_nodes:
            node.users.pop(self, None)
        self._args, self._kwargs = (), _NO_KWARGS
        self._take(args, kwargs)

    @property
    def args(self) -> tuple[Argument, ...]:
        """Return the positional arguments; assigning them keeps `users` right."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._set(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """Return the arguments by name; assigning them keeps `users` right."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._set(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """Return the nodes that this one reads, each once, in the order of arguments."""
        found: list[Node] = []
        _collect(self._args, found)
        _collect(self._kwargs, found)
        return list(dict.fromkeys(found))

    @property
    def next(self) -> Node:
        """Return the node after this one; after the last one comes the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """Return the node before this one."""
        return self._prev

    @property
    def stack_trace(self) -> str | None:
        """Return where the user's code called the operator, if that was recorded."""
        found: str | None = self.meta.get("stack_trace")
        return found

    @stack_trace.setter
    def stack_trace(self, text: str | None) -> None:
        self.meta["stack_trace"] = text

    def prepend(self, node: Node) -> None:
        """Move a node of this graph to right before this one."""
        if node.graph is not self.graph:
            raise ValueError(f"{node.name} belongs to another graph than {self.name}")
        if node is not self:
            node._take_out()
            before = self._prev
            before._next, node._prev = node, before
            node._next, self._prev = self, node

    def append(self, node: Node) -> None:
        """Move a node of this graph to right after this one."""
        if node is not self and node is not self._next:
            self._next.prepend(node)

    def _take_out(self) -> None:
        before, after = self._prev, self._next
        before._next, after._prev = after, before
        self._prev = self._next = self

    def update_arg(self, index: int, value: Argument) -> None:
        """Replace one positional argument."""
        args = list(self._args)
        args[index] = value
        self.args = tuple(args)

    def insert_arg(self, index: int, value: Argument) -> None:
        """Add a positional argument at a position."""
        if not 0 <= index <= len(self._args):
            raise IndexError(f"insert_arg({index}): {self.name} has {len(self._args)} positional arguments")
        self.args = (*self._args[:index], value, *self._args[index:])

    def update_kwarg(self, name: str, value: Argument) -> None:
        """Replace one argument by name, or add it."""
        self.kwargs = {**self._kwargs, name: value}

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Have the users read another node, those for which `delete_user_cb(user)` is true; return who did read this
        one. `propagate_meta` copies `meta` to the other node, which must have none."""
        if propagate_meta:
            if replace_with.meta:
                raise ValueError(f"propagate_meta: {replace_with.name} has meta of its own")
            replace_with.meta.update(self.meta)
        users = list(self.users)
        for user in users:
            if delete_user_cb(user):
                user.replace_input_with(self, replace_with)
        return users

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Read `new_input` instead of `old_input`."""

        def exchange(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self._args, exchange), map_arg(self._kwargs, exchange))

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node must stay although nobody reads it (`opwright.fx.purity`)."""
        return is_impure(self.op, self.target, self.graph.owning_module, self._args, impure_random)

    def format_node(self) -> str:
        """Return the node as the graph prints it."""
        from opwright.fx.printing import format_node

        return format_node(self)

    def __repr__(self) -> str:
        return self.name

    def __copy__(self) -> Node:
        raise TypeError("a node is copied into a graph: graph.node_copy(node)")

    def __reduce__(self) -> Any:
        raise TypeError("a node is part of its graph: pickle or deepcopy the graph, or its GraphModule")


_NO_KWARGS: Final[dict[str, Any]] = immutable_dict()
_PLAIN: Final = frozenset([int, float, bool, str, type(None), complex])


def _kept(value: Argument, found: list[Node]) -> Argument:
    """Return the argument with lists and dicts that cannot be changed; nodes in it are added to `found`."""
    kind = type(value)
    if kind is Node:
        found.append(value)
        return value
    if kind in _PLAIN:
        return value
    if kind is list or kind is immutable_list:
        return immutable_list([_kept(item, found) for item in value])
    if kind is tuple:
        return tuple([_kept(item, found) for item in value])
    if isinstance(value, tuple):
        return _like_tuple(value, [_kept(item, found) for item in value])
    if isinstance(value, dict):
        return immutable_dict({key: _kept(item, found) for key, item in value.items()})
    if isinstance(value, list):
        return immutable_list([_kept(item, found) for item in value])
    if kind is slice:
        return slice(_kept(value.start, found), _kept(value.stop, found), _kept(value.step, found))
    return value


def _like_tuple(value: tuple[Any, ...], items: list[Any]) -> tuple[Any, ...]:
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def _collect(value: Argument, found: list[Node]) -> None:
    map_aggregate(value, lambda item: found.append(item) if type(item) is Node else None)


def map_aggregate(value: Argument, function: Callable[[Any], Any]) -> Argument:
    """Return nested tuples, lists, dicts and slices with `function` applied to everything else in them."""
    if isinstance(value, tuple):
        return _like_tuple(value, [map_aggregate(item, function) for item in value])
    if isinstance(value, list):
        return [map_aggregate(item, function) for item in value]
    if isinstance(value, dict):
        return {key: map_aggregate(item, function) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*[map_aggregate(each, function) for each in (value.start, value.stop, value.step)])
    return function(value)


def map_arg(value: Argument, function: Callable[[Node], Argument]) -> Argument:
    """Return an argument with `function` applied to the nodes in it."""
    return map_aggregate(value, lambda item: function(item) if isinstance(item, Node) else item)
