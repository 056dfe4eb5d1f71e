"""Graphs as pictures: DOT for Graphviz, and SVG that needs no other program."""

from __future__ import annotations

from html import escape
from typing import Final

from opwright.fx.graph import Graph
from opwright.fx.graph_module import GraphModule
from opwright.fx.node import Node
from opwright.fx.printing import annotation_of, shown_target

__all__ = ["to_dot", "to_svg"]

_COLOURS: Final = {
    "placeholder": "#cfe8fc", "get_attr": "#fde9b8", "call_function": "#ffffff", "call_method": "#ffffff",
    "call_module": "#e6dcf5", "output": "#d5f0d5",
}  # fmt: skip
# In pixels: a line of text, a letter of it, and the room around boxes.
_BOLD: Final = ' font-weight="bold"'
_LINE, _LETTER, _MARGIN, _GAP_X, _GAP_Y = 16, 7, 10, 24, 36


def to_dot(graph: Graph | GraphModule, name: str = "graph") -> str:
    """Return a graph in the language of Graphviz: a box for each node, an arrow to each that reads it."""
    nodes = _nodes(graph)
    lines = [f"digraph {_quoted(name)} {{", '  node [shape=box, style=filled, fontname="monospace"];']
    for node in nodes:
        label = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in _label(node))
        lines.append(f'  {_quoted(node.name)} [label="{label}", fillcolor="{_COLOURS[node.op]}"];')
    lines += [f"  {_quoted(read.name)} -> {_quoted(node.name)};" for node in nodes for read in node.all_input_nodes]
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _nodes(graph: Graph | GraphModule) -> list[Node]:
    return list((graph.graph if isinstance(graph, GraphModule) else graph).nodes)


def _label(node: Node) -> list[str]:
    """Return the lines that a box shows: name, what it calls with which constants, what it gives."""
    lines = [node.name]
    if node.op not in ("placeholder", "output"):
        lines.append(shown_target(node.target).removeprefix("opwright.ops."))
    constants = [repr(value) for value in node.args if not _has_node(value)] if node.op != "output" else []
    constants += [f"{name}={value!r}" for name, value in node.kwargs.items() if not _has_node(value)]
    if constants:
        lines.append(", ".join(constants)[:60])
    shown = annotation_of(node.meta.get("val"))
    return [*lines, shown] if shown else lines


def _has_node(value: object) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_has_node, value))
    return isinstance(value, Node)


def to_svg(graph: Graph | GraphModule) -> str:
    """Return a graph as SVG, in rows: each node stands below those that it reads."""
    nodes = _nodes(graph)
    positions, width, height = _places(nodes)
    shapes = [_arrow(positions[read], positions[node]) for node in nodes for read in node.all_input_nodes]
    shapes += [_box(node, positions[node]) for node in nodes]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="12">',
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>',
            *shapes,
            "</svg>",
            "",
        ]
    )


Place = tuple[int, int, int, int]  # x, y, width, height


def _places(nodes: list[Node]) -> tuple[dict[Node, Place], int, int]:
    """Return where boxes stand, and the size of the picture."""
    rows: dict[Node, int] = {}
    for node in nodes:
        rows[node] = 1 + max((rows[read] for read in node.all_input_nodes), default=-1)
    last = max(rows.values(), default=0)
    for node in nodes:  # constants stand right above who reads them first; the output last
        if node.op == "get_attr" and node.users:
            rows[node] = max(0, min(rows[user] for user in node.users) - 1)
        elif node.op == "output":
            rows[node] = last
    sizes = {node: _size(node) for node in nodes}
    layers = [[node for node in nodes if rows[node] == row] for row in range(last + 1)]
    widths = [sum(sizes[node][0] + _GAP_X for node in layer) - _GAP_X for layer in layers]
    width = max([0, *widths]) + 2 * _MARGIN
    positions: dict[Node, Place] = {}
    y = _MARGIN
    for layer, taken in zip(layers, widths, strict=True):
        x = (width - taken) // 2
        for node in layer:
            positions[node] = (x, y, *sizes[node])
            x += sizes[node][0] + _GAP_X
        y += max((sizes[node][1] for node in layer), default=0) + _GAP_Y
    return positions, width, y - _GAP_Y + _MARGIN


def _size(node: Node) -> tuple[int, int]:
    lines = _label(node)
    return max(map(len, lines)) * _LETTER + 2 * _MARGIN, len(lines) * _LINE + _MARGIN


def _box(node: Node, position: Place) -> str:
    x, y, width, height = position
    texts = "".join(
        f'<text x="{x + width // 2}" y="{y + _LINE * (number + 1)}" text-anchor="middle"'
        f"{_BOLD if number == 0 else ''}>{escape(line)}</text>"
        for number, line in enumerate(_label(node))
    )
    rect = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{_COLOURS[node.op]}" stroke="#444"/>'
    return f"<g>{rect}{texts}</g>"


def _arrow(start: Place, end: Place) -> str:
    x1, y1 = start[0] + start[2] // 2, start[1] + start[3]
    x2, y2 = end[0] + end[2] // 2, end[1]
    bend = max(12, (y2 - y1) // 2)
    path = f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"
    return f'<path d="{path}" fill="none" stroke="#666" marker-end="url(#arrow)"/>'
