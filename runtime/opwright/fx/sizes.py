"""Symbolic sizes as nodes: where a symbol comes from, and the arithmetic of an expression."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Final

from opwright.fx.graph import Graph
from opwright.fx.node import Node
from opwright.namespaces import ops
from opwright.symbolic.numbers import SymBool, SymFloat, SymInt
from opwright.symbolic.questions import sym_not, sym_sqrt
from opwright_core.arrays.sizes import sym_float, sym_ite, sym_max, sym_min
from opwright_core.tensors.tensor import Tensor

__all__ = ["FUNCTIONS", "Sizes"]

SYMBOLIC: Final = (SymInt, SymFloat, SymBool)
# What computes a call of an expression (`opwright.symbolic.evaluation` says what their names mean).
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "abs": builtins.abs,
    "Max": sym_max, "Min": sym_min, "fmax": sym_max, "fmin": sym_min,
    **{prefix + name: getattr(operator, name) for prefix in ("", "f") for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "fadd": operator.add, "fsub": operator.sub, "fmul": operator.mul, "truediv": operator.truediv,
    "ffloordiv": operator.floordiv, "fmod": operator.mod, "fpow": operator.pow, "fneg": operator.neg,
    "fabs": builtins.abs, "float": sym_float, "sqrt": sym_sqrt, "floor": math.floor, "ceil": math.ceil,
    "trunc": math.trunc, "round": builtins.round, "and": operator.and_, "or": operator.or_, "not": sym_not,
    "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor, "lshift": operator.lshift,
    "rshift": operator.rshift, "where": sym_ite,
}  # fmt: skip
_OF_MANY: Final = ("Max", "Min", "and", "or")


class Sizes:
    """The symbolic numbers of a trace, and the nodes that give them when the graph runs.

    A symbol is read off the tensor that brought it (`sym_size`), right after the node of that tensor: later the tensor
    may have another shape. An expression is computed where it is needed first.
    """

    def __init__(self, graph: Graph) -> None:
        from opwright.symbolic import expressions

        self._graph = graph
        self._expressions = expressions
        self._sources: dict[str, Callable[[], Node]] = {}
        self._nodes: dict[Any, Node] = {}  # by expression
        self.origins: dict[str, list[tuple[Node, str, int]]] = {}  # of the symbols of inputs, for guards

    def found_in(self, tensor: Tensor, node: Node, *, is_input: bool = False) -> None:
        """Note the symbols that a tensor's shape brings, with its strides and offset if it is an input."""
        for dim, size in enumerate[Any](tensor.shape):
            if isinstance(size, SymInt):
                self._note(size, node, "size", dim, is_input)
        if is_input:
            for dim, stride in enumerate[Any](tensor.stride()):
                if isinstance(stride, SymInt):
                    self._note(stride, node, "stride", dim, is_input)
            if isinstance(offset := tensor.storage_offset(), SymInt):
                self._note(offset, node, "storage_offset", 0, is_input)

    def given_by(self, value: Any, node: Node) -> None:
        """Note that a node gives a symbolic number itself: an input, or what is read off a tensor."""
        expr = value.origin
        if expr.is_Symbol and expr.name not in self._sources:
            self._sources[expr.name] = lambda: node
        elif expr not in self._nodes:  # of a bool, `u0 == 1`
            self._nodes[expr] = node
            for symbol in expr.free_symbols:
                self._sources.setdefault(symbol.name, lambda: self._after(node, sym_ite, (node, 1, 0)))
        self.origins.setdefault(str(expr), []).append((node, "value", 0))

    def _note(self, value: SymInt, node: Node, what: str, dim: int, is_input: bool) -> None:
        expr = value.origin
        if not expr.is_Symbol:
            return
        if is_input:
            self.origins.setdefault(expr.name, []).append((node, what, dim))
        if expr.name not in self._sources:
            reader = _READERS[what]
            args = (node,) if what == "storage_offset" else (node, dim)
            self._sources[expr.name] = lambda: self._after(node, reader, args)

    def _after(self, node: Node, function: Callable[..., Any], args: tuple[Any, ...]) -> Node:
        """Add a call right after a node; after the last of all inputs, if it is one."""
        if node.op == "placeholder":
            while node.next.op == "placeholder":
                node = node.next
        while node.next.meta.get("of_size"):
            node = node.next
        with self._graph.inserting_after(node):
            made = self._graph.call_function(function, args)
        made.meta["of_size"] = True
        return made

    def argument(self, value: Any) -> Any:
        """Return what stands for a symbolic number among the arguments of a node: a node, or a plain number."""
        found = self._of(value.origin)
        if isinstance(found, Node):
            found.meta.setdefault("val", value)
        return found

    def _of(self, expr: Any) -> Any:
        found = self._nodes.get(expr)
        if found is not None:
            return found
        if self._expressions.is_constant(expr):
            return self._expressions.value_of(expr)
        made = self._nodes[expr] = self._made(expr)
        return made

    def _made(self, expr: Any) -> Node:
        if expr.is_Symbol:
            source = self._sources.get(expr.name)
            if source is None:
                raise RuntimeError(
                    f"make_fx: no input and no operator of the graph gives {expr}, on which a size depends"
                )
            return source()
        if expr.is_Add:
            return self._sum(list(expr.args))
        if expr.is_Mul:
            return self._folded(operator.mul, [self._of(each) for each in _constants_last(expr.args)])
        if expr.is_Pow:
            return self._graph.call_function(operator.pow, (self._of(expr.args[0]), self._of(expr.args[1])))
        arguments = [self._of(each) for each in expr.arguments]
        if expr.name in _OF_MANY:
            return self._folded(FUNCTIONS[expr.name], arguments)
        return self._graph.call_function(FUNCTIONS[expr.name], tuple(arguments))

    def _sum(self, terms: list[Any]) -> Node:
        """Add a sum: terms of positive sign first, others subtracted."""
        terms = _constants_last(terms)
        parts = [(self._expressions.factored(term), term) for term in terms]
        positive = [term for (factor, _), term in parts if factor > 0]
        negative = [
            self._expressions.multiply(self._expressions.MINUS_ONE, term) for (factor, _), term in parts if factor < 0
        ]
        total: Any = functools.reduce(self._plus, map(self._of, positive)) if positive else 0
        for term in negative:
            total = self._graph.call_function(operator.sub, (total, self._of(term)))
        assert isinstance(total, Node)
        return total

    def _plus(self, left: Any, right: Any) -> Node:
        return self._graph.call_function(operator.add, (left, right))

    def _folded(self, function: Callable[..., Any], values: list[Any]) -> Node:
        def apply(left: Any, right: Any) -> Node:
            return self._graph.call_function(function, (left, right))

        found: Node = functools.reduce(apply, values)
        return found


_READERS: Final[dict[str, Callable[..., Any]]] = {
    "size": ops.aten.sym_size.int,
    "stride": ops.aten.sym_stride.int,
    "storage_offset": ops.aten.sym_storage_offset.default,
}


def _constants_last(parts: Any) -> list[Any]:
    return sorted(parts, key=lambda part: bool(part.is_Integer))
