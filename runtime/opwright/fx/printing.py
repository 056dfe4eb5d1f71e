"""Graphs as text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from opwright.inspection.short_texts import short_text
from opwright_core.arrays.sizes import is_symbolic
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.fx.graph import Graph
    from opwright.fx.node import Node

__all__ = ["annotation_of", "format_graph", "format_html", "format_node", "shown_target", "table"]


_HEADINGS: Final = ("opcode", "name", "target", "args", "kwargs")
_MOST_ROWS, _MOST_LETTERS = 200, 120  # of a table in a notebook, and of each of its cells


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


def _rows(nodes: Iterable[Node]) -> list[tuple[str, ...]]:
    """Return the opcode, name, target, arguments and keyword arguments of each node, as text."""
    return [(node.op, node.name, shown_target(node.target), str(node.args), str(dict(node.kwargs))) for node in nodes]


def table(graph: Graph) -> str:
    """Return the nodes as a table."""
    rows = [_HEADINGS, *_rows(graph.nodes)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    rows.insert(1, tuple("-" * width for width in widths))
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def format_html(graph: Graph, title: str = "") -> str:
    """Return the nodes as a table of HTML, the first 200 of them."""
    from opwright.inspection.html_tables import html_table  # for notebooks alone

    nodes = [*graph.nodes][:_MOST_ROWS]
    shown = zip(_rows(nodes), nodes, strict=True)
    rows = [[*map(_shortened, row), annotation_of(node.meta.get("val"))] for row, node in shown]
    left_out = len(graph.nodes) - len(nodes)
    return html_table(title, (*_HEADINGS, "gives"), rows) + (f"<p>and {left_out} more</p>" if left_out else "")


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"
