"""Graphs as Python: a function `forward` with the imports that it needs."""

from __future__ import annotations

import builtins
import importlib
import keyword
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright.fx.naming import TAKEN
from opwright.fx.node import Node
from opwright.fx.printing import annotation_of
from opwright.registering.custom_classes import find_custom_class, represented
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet

if TYPE_CHECKING:
    from opwright.fx.graph import Graph

__all__ = ["PythonCode", "python_code"]

_INFIX: Final[dict[Any, str]] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.matmul: "@", operator.eq: "==", operator.ne: "!=",
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.and_: "&", operator.or_: "|",
    operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PythonCode:
    """A function `forward` as text, with its imports; and the objects that it names and no import gives."""

    src: str
    globals: dict[str, Any]


def python_code(graph: Graph, root: str = "self", *, is_annotated: bool = False) -> PythonCode:
    """Return a graph as Python. `is_annotated` writes shapes beside names, as strings."""
    return _Writer(graph, root, is_annotated).written()


@dataclass
class _Writer:
    """The code written so far: imports, and objects that have none."""

    graph: Graph
    root: str
    is_annotated: bool
    modules: dict[str, None] = field(default_factory=lambda: {"opwright": None})
    globals: dict[str, Any] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)  # names of nodes

    def written(self) -> PythonCode:
        """Return the whole."""
        self.taken.update(node.name for node in self.graph.nodes)
        last_reads = _last_reads(self.graph)
        lines: list[str] = []
        result = "None"
        inputs = []
        for node in self.graph.nodes:
            if node.op == "placeholder":
                inputs.append(node)
            elif node.op == "output":
                result = self.value(node.args[0] if node.args else None)
            else:
                gone = last_reads.get(node, ())
                unread = () if node.users else (node.name,)
                freed = " = ".join([*(each.name for each in gone), *unread, "None"]) if gone or unread else ""
                lines.append(f"{self.named(node)} = {self.call(node)}{f';  {freed}' if freed else ''}")
        head, lines[:0] = self.signature(inputs)
        lines.append(f"return {self.result(result)}")
        imports = "".join(f"import {module}\n" for module in self.modules)
        body = "".join(f"    {line}\n" for line in lines)
        return PythonCode(f"{imports}\n\ndef forward({head}):\n{body}", self.globals)

    def signature(self, inputs: list[Node]) -> tuple[str, list[str]]:
        """Return the parameters, and the lines that take trees among them apart."""
        trees = self.graph.trees
        if trees is None or trees.in_spec is None:
            renamed = [f"{node.name} = {_given_name(node)}" for node in inputs if _given_name(node) != node.name]
            return ", ".join([self.root, *map(self.parameter, inputs)]), renamed
        self.modules["opwright.fx.trees"] = None
        names = "".join(f"{node.name}, " for node in inputs)
        given = ", ".join(trees.names)
        taken = f"opwright.fx.trees.flatten_as([{given}], {self.root}._in_spec)"
        return ", ".join([self.root, *trees.names]), [f"{names}= {taken}"] if inputs else []

    def parameter(self, node: Node) -> str:
        """Return an input as a parameter of the function."""
        stars = "*" * str(node.target).count("*")
        default = f" = {self.value(node.args[0])}" if node.args else ""
        text = annotation_of(node.meta.get("val")) if self.is_annotated else ""
        note = f': "{text}"' if text else ""
        return f"{stars}{_given_name(node)}{note}{default}"

    def result(self, text: str) -> str:
        """Return what the function returns."""
        trees = self.graph.trees
        if trees is None or trees.out_spec is None:
            return text
        self.modules["opwright.fx.trees"] = None
        return f"opwright.fx.trees.tree_unflatten({text}, {self.root}._out_spec)"

    def named(self, node: Node) -> str:
        """Return a node's name, annotated where that is asked for."""
        text = annotation_of(node.meta.get("val")) if self.is_annotated else ""
        return f'{node.name}: "{text}"' if text else node.name

    def call(self, node: Node) -> str:
        """Return the expression of a node."""
        if node.op == "get_attr":
            return self.attribute(str(node.target))
        if node.op == "call_function":
            return self.function_call(node)
        if node.op == "call_method":
            return f"{self.operand(node.args[0])}.{node.target}({self.arguments(node.args[1:], node)})"
        return f"{self.attribute(str(node.target))}({self.arguments(node.args, node)})"

    def attribute(self, name: str) -> str:
        """Return an attribute of the module, whose name need be no identifier."""
        text = self.root
        for part in name.split("."):
            text = f"{text}.{part}" if _is_name(part) else f"getattr({text}, {part!r})"
        return text

    def function_call(self, node: Node) -> str:
        """Return the call of a function, in Python's own notation where there is one."""
        target, args = node.target, node.args
        if not node.kwargs and len(args) == 2:
            if target in _INFIX:
                return f"{self.operand(args[0])} {_INFIX[target]} {self.operand(args[1])}"
            if target is operator.getitem:
                return f"{self.operand(args[0])}[{self.value(args[1])}]"
        return f"{self.function(target)}({self.arguments(args, node)})"

    def arguments(self, args: tuple[Any, ...], node: Node) -> str:
        """Return the arguments of a call."""
        by_name = [f"{name} = {self.value(value)}" for name, value in node.kwargs.items() if _is_name(name)]
        others = {name: value for name, value in node.kwargs.items() if not _is_name(name)}
        unpacked = [f"**{self.value(others)}"] if others else []
        return ", ".join([*map(self.value, args), *by_name, *unpacked])

    def function(self, target: Any) -> str:
        """Return what names a function; one that no import gives goes to `globals`."""
        if isinstance(target, Operator):
            parts = [target.namespace, target.base, target.overload or "default"]
        elif isinstance(target, Packet):
            parts = [target.namespace, target.base]
        else:
            return self.other_function(target)
        text = "opwright.ops"
        for part in parts:
            text = f"{text}.{part}" if _is_name(part) else f"getattr({text}, {part!r})"
        return text

    def other_function(self, target: Callable[..., Any]) -> str:
        """Return what names a function that is no operator."""
        module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", "")
        if getattr(builtins, name, None) is target:
            return name
        if module == "_operator":
            module = "operator"
        for position in ("opwright", module):
            if position and position.partition(".")[0] not in self.taken and _found(position, name) is target:
                self.modules[position] = None
                return f"{position}.{name}"
        base = name.rpartition(".")[2]
        return self.object(base if _is_name(base) else "function", target)

    def object(self, name: str, value: Any) -> str:
        """Return the name by which `globals` has an object; no node, no module, nothing of Python's has it."""
        taken = TAKEN | self.taken | self.modules.keys()
        while name in taken or self.globals.setdefault(name, value) is not value:
            name += "_"
        return name

    def operand(self, value: Any) -> str:
        """Return a value that a sign or a point follows."""
        text = self.value(value)
        return text if isinstance(value, Node) or (isinstance(value, int) and value >= 0) else f"({text})"

    def value(self, value: Any) -> str:
        """Return an argument as Python writes it."""
        match value:
            case Node():
                return value.name
            case tuple() if not hasattr(value, "_fields"):
                items = ", ".join(map(self.value, value))
                return f"({items},)" if len(value) == 1 else f"({items})"
            case list():
                return f"[{', '.join(map(self.value, value))}]"
            case dict():
                return f"{{{', '.join(f'{self.value(key)}: {self.value(item)}' for key, item in value.items())}}}"
            case slice():
                return f"slice({self.value(value.start)}, {self.value(value.stop)}, {self.value(value.step)})"
            case Layout() | MemoryFormat():
                return f"opwright.{value.name}"
            case Enum():  # which may be an int or a str as well
                is_named = _is_name(value.name or "")  # combined flags are not
                return f"{self.function(type(value))}.{value.name}" if is_named else self.object("_enum", value)
            case bool() | int() | str() | bytes() | None:
                return repr(value)
            case float():
                return repr(value) if math.isfinite(value) else f"float('{value!r}')"
            case complex():
                return f"complex({self.value(value.real)}, {self.value(value.imag)})"
            case np.dtype():
                return f"opwright.{dtype_name(value).rpartition('.')[2]}"
            case Device():
                return f"opwright.device('{value}')"
        return "..." if value is Ellipsis else self.constant(value)

    def constant(self, value: Any) -> str:
        """Return what names a value that Python has no notation for."""
        if callable(value) and hasattr(value, "__name__"):
            return self.function(value)
        custom = find_custom_class(type(value))
        if custom is not None and not custom.is_symbolic:
            text, classes = represented(value)
            if all(self.object(name, cls) == name for name, cls in classes.items()):
                return text
        return self.object(f"_{type(value).__name__.lower()}", value)


def _last_reads(graph: Graph) -> dict[Node, list[Node]]:
    """Return for each node those that nobody reads after it."""
    found: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for node in reversed(graph.nodes):
        for read in node.all_input_nodes:
            if read not in seen:
                seen.add(read)
                if node.op != "output":
                    found.setdefault(node, []).append(read)
    return found


def _given_name(node: Node) -> str:
    """Return what callers call an input."""
    name = str(node.target).lstrip("*")
    return name if _is_name(name) else node.name


def _found(module: str, name: str) -> Any:
    try:
        value: Any = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (AttributeError, ImportError, ValueError):
        return None
    return value


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)
