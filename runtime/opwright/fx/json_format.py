"""Graphs as JSON: a text that other programs can read, with a version."""

from __future__ import annotations

import json
import keyword
from dataclasses import fields
from typing import Any, Final

from opwright.fx.graph import Graph
from opwright.fx.graph_module import GraphModule
from opwright.fx.guards import Condition, Guards, InputGuard
from opwright.fx.json_values import (
    JSONFormatError,
    function_from,
    function_text,
    spec_from,
    spec_text,
    value_from,
    value_text,
)
from opwright.fx.node import OPS, Node
from opwright.fx.trees import TreeInfo

__all__ = ["FORMAT_VERSION", "from_json", "to_json"]

FORMAT_VERSION: Final = 1
_FORMAT: Final = "opwright.fx"


def to_json(module: GraphModule, *, indent: int | None = None) -> str:
    """Return a graph with its constants and guards as JSON. Raises JSONFormatError for what JSON cannot hold.

    Structures that are classes, named tuples for one, become tuples where they are results; `meta` is not kept.
    """
    graph = module.graph
    reads = {str(node.target): node for node in graph.nodes if node.op in ("get_attr", "call_module")}
    data = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "name": module._class_name,
        "nodes": [_node_text(node) for node in graph.nodes],
        "constants": {name: value_text(_attribute(module, name), f"the attribute {name}") for name in reads},
        "trees": None if graph.trees is None else _trees_text(graph.trees),
        "guards": None if module.guards is None else _guards_text(module.guards),
    }
    return json.dumps(data, indent=indent, allow_nan=False)


def from_json(text: str | bytes) -> GraphModule:
    """Return the graph that a JSON text says. Raises JSONFormatError, a ValueError, for a text that is none: what is
    wrong and where, operators that are not defined here, another version."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise JSONFormatError(f"this is no JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise JSONFormatError(f'this JSON is no graph: it has no "format": "{_FORMAT}"')
    version = data.get("version")
    if version != FORMAT_VERSION:
        raise JSONFormatError(
            f"this graph is of version {version!r} of the format, and this Opwright reads version {FORMAT_VERSION}: "
            "write it again with to_json of the same Opwright"
        )
    try:
        return _module_from(data)
    except JSONFormatError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RuntimeError, RecursionError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise JSONFormatError(f"this graph is not well made: {what}") from error


def _module_from(data: dict[str, Any]) -> GraphModule:
    graph = Graph()
    nodes: dict[str, Node] = {}
    for number, record in enumerate(_listed(data["nodes"], "nodes")):
        made = _node_from(graph, record, nodes, f"node {number}")
        nodes[made.name] = made
    constants = {name: value_from(value, {}, f"the constant {name}") for name, value in data["constants"].items()}
    trees = data.get("trees")
    if trees is not None:
        names = trees["names"]
        if not all(_is_name(name) and name != "self" for name in names) or len(set(names)) < len(names):
            raise JSONFormatError(f"{names!r:.80} are no names of parameters")
        graph.trees = TreeInfo(tuple(names), spec_from(trees["in"]), spec_from(trees["out"]))
    graph.lint()
    graph.output_node()
    made_module = GraphModule(constants, graph, str(data.get("name", "GraphModule")))
    if data.get("guards") is not None:
        made_module.guards = _guards_from(data["guards"])
    return made_module


def _listed(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise JSONFormatError(f"{what}: a list is expected, but got {type(value).__name__}")
    return value


def _node_text(node: Node) -> dict[str, Any]:
    where = f"the node {node.name}"
    record: dict[str, Any] = {"name": node.name, "op": node.op, "target": function_text(node.target, where)}
    if node.args:
        record["args"] = [value_text(value, where) for value in node.args]
    if node.kwargs:
        record["kwargs"] = {name: value_text(value, where) for name, value in node.kwargs.items()}
    return record


def _node_from(graph: Graph, record: Any, nodes: dict[str, Node], where: str) -> Node:
    if not isinstance(record, dict):
        raise JSONFormatError(f"{where}: an object is expected, but got {record!r:.80}")
    op, name, target = record.get("op"), record.get("name"), record.get("target")
    if op not in OPS:
        raise JSONFormatError(f"{where}: op is one of {', '.join(OPS)}, not {op!r}")
    if not isinstance(name, str) or not graph._names.is_free(name):
        raise JSONFormatError(f"{where}: {name!r} is no name for a node, or another one has it")
    where = f"{where} ({name})"
    if op == "call_function":
        target = function_from(target, where)
    elif not isinstance(target, str) or not all(map(_is_name, target.lstrip("*").split("."))):
        raise JSONFormatError(f"{where}: the target of a {op} is a name, not {target!r:.80}")
    args = tuple([value_from(value, nodes, where) for value in _listed(record.get("args", []), where)])
    kwargs = {key: value_from(value, nodes, where) for key, value in record.get("kwargs", {}).items()}
    return graph.create_node(op, target, args, kwargs, name)


def _is_name(text: Any) -> bool:
    """Whether a text may stand in code as a name; private names of Python are none."""
    return isinstance(text, str) and text.isidentifier() and not keyword.iskeyword(text) and not text.startswith("__")


def _attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def _trees_text(trees: TreeInfo) -> dict[str, Any]:
    return {"names": list(trees.names), "in": spec_text(trees.in_spec), "out": spec_text(trees.out_spec)}


def _guards_text(guards: Guards) -> dict[str, Any]:
    inputs = [
        {each.name: value_text(getattr(guard, each.name), guard.name) for each in fields(guard)}
        for guard in guards.inputs
    ]
    conditions = [
        {each.name: value_text(getattr(condition, each.name), "a guard") for each in fields(condition)}
        for condition in guards.conditions
    ]
    same = [list(pair) for pair in guards.same]
    return {"inputs": inputs, "conditions": conditions, "same": same, "in": spec_text(guards.in_spec)}


def _guards_from(data: dict[str, Any]) -> Guards:
    inputs = [
        InputGuard(**{name: value_from(value, {}, "a guard") for name, value in each.items()})
        for each in data["inputs"]
    ]
    conditions = [
        Condition(**{name: value_from(value, {}, "a guard") for name, value in each.items()})
        for each in data["conditions"]
    ]
    same = [(int(one), int(two)) for one, two in data["same"]]
    return Guards(tuple(inputs), tuple(conditions), tuple(same), spec_from(data["in"]))
