"""Graphs as JSON: a text that other programs can read, with a version."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Final

from opwright.fx.graph import Graph
from opwright.fx.graph_module import GraphModule
from opwright.fx.guards import Condition, Guards, InputGuard
from opwright.fx.json_allowed import TensorMethod, constant_fault, is_name, is_parameter
from opwright.fx.json_operators import SavedOperators, operators_text
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
from opwright_core.dispatch.call.operator import Operator

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
        "operators": operators_text(graph),
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
    except RecursionError:
        raise JSONFormatError("this is no JSON: it is nested too deeply") from None
    except (ValueError, TypeError) as error:
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
    saved = SavedOperators(data.get("operators", {}))
    for number, record in enumerate(_listed(data["nodes"], "nodes")):
        made = _node_from(graph, record, nodes, saved, f"node {number}")
        nodes[made.name] = made
    trees = data.get("trees")
    if trees is not None:
        graph.trees = _trees_from(trees)
    graph.lint()
    graph.output_node()
    _check_parameters(graph)
    module = GraphModule(_constants_from(data["constants"]), graph, _class_name(data.get("name", "GraphModule")))
    if data.get("guards") is not None:
        module.guards = _guards_from(data["guards"])
    try:
        module._run = module._compiled()
    except Exception as error:
        raise JSONFormatError(f"this graph is not well made: its code does not compile: {error}") from None
    return module


def _class_name(name: Any) -> str:
    if not is_name(name) and name != "<lambda>":
        raise JSONFormatError(f"name: {name!r:.80} is no name of a function")
    return str(name)


def _constants_from(constants: Any) -> dict[str, Any]:
    if not isinstance(constants, dict):
        raise JSONFormatError(f"constants: an object is expected, but got {type(constants).__name__}")
    for name in constants:
        fault = constant_fault(name, constants)
        if fault is not None:
            raise JSONFormatError(f"constants: {name!r:.80} {fault}")
    return {name: value_from(value, {}, f"the constant {name}") for name, value in constants.items()}


def _trees_from(trees: Any) -> TreeInfo:
    names = _listed(trees["names"], "trees.names")
    if not all(map(is_parameter, names)) or len(set(names)) < len(names):
        raise JSONFormatError(f"trees.names: {names!r:.80} are no names of parameters")
    return TreeInfo(tuple(names), spec_from(trees["in"]), spec_from(trees["out"]))


def _check_parameters(graph: Graph) -> None:
    """Refuse inputs that no function of Python could have."""
    seen: set[str] = set()
    most = 0
    for node in [node for node in graph.nodes if node.op == "placeholder"]:
        stars, name = _starred(str(node.target))
        if node.all_input_nodes or node.kwargs or len(node.args) > 1:
            raise JSONFormatError(f"the input {node.name}: a default is a constant")
        if (most and stars <= most) or (stars and node.args):
            raise JSONFormatError(f"the input {node.name}: {str(node.target)!r} stands where it may not")
        most = stars
        if name in seen:
            raise JSONFormatError(f"the input {node.name}: another one is called {name!r} too")
        seen.add(name)


def _starred(target: str) -> tuple[int, str]:
    name = target.lstrip("*")
    return len(target) - len(name), name


def _listed(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise JSONFormatError(f"{what}: a list is expected, but got {type(value).__name__}")
    return value


def _node_text(node: Node) -> dict[str, Any]:
    where = f"the node {node.name}"
    if isinstance(node.target, TensorMethod):
        op, target = "call_method", node.target.__name__
    else:
        op, target = node.op, function_text(node.target, where)
    record: dict[str, Any] = {"name": node.name, "op": op, "target": target}
    if node.args:
        record["args"] = [value_text(value, where) for value in node.args]
    if node.kwargs:
        record["kwargs"] = {name: value_text(value, where) for name, value in node.kwargs.items()}
    return record


def _node_from(graph: Graph, record: Any, nodes: dict[str, Node], saved: SavedOperators, where: str) -> Node:
    if not isinstance(record, dict):
        raise JSONFormatError(f"{where}: an object is expected, but got {record!r:.80}")
    op, name, target = record.get("op"), record.get("name"), record.get("target")
    if op not in OPS:
        raise JSONFormatError(f"{where}: op is one of {', '.join(OPS)}, not {op!r}")
    if not is_name(name) or not graph._names.is_free(str(name)):
        raise JSONFormatError(f"{where}: {name!r:.80} is no name for a node, or another one has it")
    where = f"{where} ({name})"
    op, target = _call_from(op, target, where, saved)
    args = tuple([value_from(value, nodes, where) for value in _listed(record.get("args", []), where)])
    kwargs = {key: value_from(value, nodes, where) for key, value in _keywords(record.get("kwargs", {}), where)}
    if isinstance(target, Operator):
        args, kwargs = saved.upgraded(target, args, kwargs, where)
    return graph.create_node(op, target, args, kwargs, name)


def _keywords(kwargs: Any, where: str) -> Iterable[tuple[str, Any]]:
    if not isinstance(kwargs, dict):
        raise JSONFormatError(f"{where}: kwargs: an object is expected, but got {type(kwargs).__name__}")
    for name in kwargs:
        if not is_name(name) and not keyword.iskeyword(name):  # (`from` is one of aten::random_)
            raise JSONFormatError(f"{where}: kwargs: {name!r:.80} is no name of an argument")
    return kwargs.items()


def _call_from(op: str, target: Any, where: str, saved: SavedOperators) -> tuple[str, Any]:
    """Return what a node does, and its target. Methods become functions that see that they are called on tensors."""
    match op:
        case "call_function":
            return op, function_from(target, where + saved.told(target))
        case "call_method":
            method = TensorMethod.named(target)
            if method is None:
                raise JSONFormatError(
                    f"{where}: the target of a call_method is a name of an operator that tensors have as a method, "
                    f"not {target!r:.80}"
                )
            return "call_function", method
        case "call_module":
            raise JSONFormatError(f"{where}: call_module: no constant of JSON can be called")
        case "placeholder" if isinstance(target, str) and is_parameter(target.lstrip("*")) and target[:3] != "***":
            return op, target
        case "get_attr" | "output" if isinstance(target, str) and all(map(is_name, target.split("."))):
            return op, target
    raise JSONFormatError(f"{where}: the target of a {op} is a name, not {target!r:.80}")


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
