"""Graphs as text for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opwright.inspection.short_texts import short_text
from opwright_core.arrays.sizes import is_symbolic
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.fx.graph import Graph
    from opwright.fx.node import Node

__all__ = ["annotation_of", "format_graph", "format_node", "shown_target", "table"]


def annotation_of(value: Any) -> str:
    """Return what `meta["val"]` looks like, `f32[4, s0]`; empty for what has no short name."""
    if isinstance(value, Tensor):
        return short_text(value)
    return f"Sym({value})" if is_symbolic(value) else ""


def shown_target(target: Callable[..., Any] | str) -> str:
    """Return a target as Python would name it."""
    if isinstance(target, str):
        return target
    if isinstance(target, Operator):
        return f"opwright.ops.{target}"
    module = getattr(target, "__module__", None)
    name: str = getattr(target, "__qualname__", getattr(target, "__name__", repr(target)))
    return name if module in (None, "builtins") else f"{module.removeprefix('_')}.{name}"


def format_node(node: Node) -> str:
    """Return a node as the graph prints it."""
    if node.op == "output":
        return f"return {node.args[0] if node.args else None}"
    head = f"%{node.name} : [num_users={len(node.users)}] = {node.op}[target={shown_target(node.target)}]"
    if node.op == "placeholder":
        return f"{head}(default={node.args[0]})" if node.args else head
    if node.op == "get_attr":
        return head
    args = ", ".join(_shown(value) for value in node.args)
    kwargs = ", ".join(f"{name}: {_shown(value)}" for name, value in node.kwargs.items())
    return f"{head}(args = ({args}{',' if len(node.args) == 1 else ''}), kwargs = {{{kwargs}}})"


def _shown(value: Any) -> str:
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return f"({', '.join(map(_shown, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_shown(item)}' for key, item in value.items())}}}"
    return f"%{value.name}" if type(value).__name__ == "Node" else str(value)


def format_graph(graph: Graph) -> str:
    """Return the nodes, one a line."""
    return "\n".join(["graph():", *(f"    {format_node(node)}" for node in graph.nodes)])


def table(graph: Graph) -> str:
    """Return the nodes as a table."""
    rows = [("opcode", "name", "target", "args", "kwargs")]
    rows += [
        (node.op, node.name, shown_target(node.target), str(node.args), str(dict(node.kwargs))) for node in graph.nodes
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    rows.insert(1, tuple("-" * width for width in widths))  # type: ignore[arg-type]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
