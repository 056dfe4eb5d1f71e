"""The formulas of generated nodes, read for the compiled core, which computes gradients by them
(`runtime/opwright_core/fast/graph/gradients.c`).

A node's `formulas` say again what its `apply` does, where that is arithmetic, calls and constants over `grad` and the
node's slots: `grad * other.conj()`. Empty where the Python alone can.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from opwright.autograd.nodes import Node
from opwright.namespaces import ops
from opwright_core.core import fast
from opwright_core.gradient_codes import (
    STEP_APART,
    STEP_CALL,
    STEP_CONJ,
    STEP_GIVEN,
    STEP_GRAD,
    STEP_SAME,
    STEP_SAVED,
    STEP_SWAPPED,
    STEP_TURNED,
    STEP_VALUE,
)
from opwright_core.tensors.tensor import Tensor

__all__ = ["gradients_for"]

Function = Callable[..., Any]
_LAYS: Final = {
    ("grad.reshape(self_shape)",): STEP_SAME,
    ("grad.t()",): STEP_TURNED,
    ("grad.numpy_T()",): STEP_TURNED,
    ("grad.transpose(dim0, dim1)",): STEP_SWAPPED,
}
_ARITHMETIC: Final = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_WITH_ALPHA: Final = ("add", "sub", "rsub")
_REFLECTED: Final = {"add": "add", "sub": "rsub", "mul": "mul"}  # of a number and a tensor


class _Unreadable(Exception):
    """Raised for what the core leaves to the Python."""


class _Value(NamedTuple):
    """A value of a formula: the number of its step, and whether it is surely a tensor."""

    number: int
    is_tensor: bool


def gradients_for(node: type[Node]) -> Any:
    """Return the formulas that the core evaluates for nodes of a class, and the slots that it frees; None for none."""
    try:
        texts = tuple(getattr(node, "formulas", ()))
        formulas = tuple([_Reader(node).read(text) if text else () for text in texts])
        return fast.Gradients(node, formulas, node.saved, _LAYS.get(texts, STEP_APART))
    except (ValueError, AttributeError):  # more than it holds, or slots of another kind
        return None


class _Reader:
    """The steps of one formula: kind, slot, object, table, function, operands."""

    def __init__(self, node: type[Node]) -> None:
        self.node = node
        self.names = node.apply.__globals__
        self.steps: list[tuple[int, str | None, Any, Any, Any, tuple[int, ...]]] = []

    def read(self, text: str) -> tuple[Any, ...]:
        """Return the steps; none where some part is not to be read."""
        try:
            self.value(ast.parse(text, mode="eval").body)
        except _Unreadable:
            return ()
        return tuple(self.steps) if len(self.steps) <= fast.MOST_VALUES else ()

    def value(self, part: ast.expr) -> _Value:
        """Add the steps of a part of the formula."""
        if not self.names_own(part):
            return self.add(STEP_GIVEN, given=self.evaluated(part))
        match part:
            case ast.Name("grad"):
                return self.add(STEP_GRAD, is_tensor=True)
            case ast.Name(name):
                is_saved = name in self.node.saved
                return self.add(STEP_SAVED if is_saved else STEP_VALUE, slot=name, is_tensor=is_saved)
            case ast.UnaryOp(ast.USub(), operand):
                return self.operator("neg.default", self.tensor(operand))
            case ast.BinOp(left, operation, right) if type(operation) in _ARITHMETIC:
                return self.arithmetic(_ARITHMETIC[type(operation)], self.value(left), self.value(right))
            case ast.Call(ast.Attribute(of, "conj" | "conjugate"), []):
                value = self.value(of)
                return self.add(STEP_CONJ, operands=(value.number,), is_tensor=value.is_tensor)
            case ast.Attribute(of, "mH" | "mT" as name):
                turned = self.operator(
                    "transpose.int", self.tensor(of), self.add(STEP_GIVEN, given=-2), self.add(STEP_GIVEN, given=-1)
                )
                return turned if name == "mT" else self.add(STEP_CONJ, operands=(turned.number,), is_tensor=True)
            case ast.Call(function, arguments, []):
                return self.call(function, arguments)
        raise _Unreadable

    def names_own(self, part: ast.expr) -> bool:
        """Whether a part is over the gradient, or slots."""
        names = (each.id for each in ast.walk(part) if isinstance(each, ast.Name))
        return any(name == "grad" or name in self.node.__slots__ for name in names)

    def evaluated(self, part: ast.expr) -> Any:
        """Return the value of a part that is over neither."""
        return eval(compile(ast.Expression(part), "<formula>", "eval"), self.names)

    def arithmetic(self, name: str, left: _Value, right: _Value) -> _Value:
        """Add a call of the operator that Python's arithmetic means."""
        if left.is_tensor:
            return self.operator(f"{name}.{'Tensor' if right.is_tensor else 'Scalar'}", left, right)
        if right.is_tensor and name in _REFLECTED:
            return self.operator(f"{_REFLECTED[name]}.Scalar", right, left)
        raise _Unreadable

    def call(self, function: ast.expr, arguments: list[ast.expr]) -> _Value:
        """Add a call of a method of a tensor, or of a function of the module's."""
        if not isinstance(function, ast.Attribute) or not self.names_own(function):
            return self.function(self.evaluated(function), *map(self.value, arguments))
        own = self.tensor(function.value)
        if not arguments and hasattr(getattr(ops.aten, function.attr, None), "default"):
            return self.operator(f"{function.attr}.default", own)
        return self.function(getattr(Tensor, function.attr, None), own, *map(self.value, arguments))

    def tensor(self, part: ast.expr) -> _Value:
        """Add the steps of a part that has to be a tensor."""
        value = self.value(part)
        if not value.is_tensor:
            raise _Unreadable
        return value

    def operator(self, name: str, *operands: _Value) -> _Value:
        """Add a call of an operator that gives a tensor: with `alpha`, where it takes one."""
        base, overload = name.split(".")
        found: Any = getattr(getattr(ops.aten, base), overload)
        if base in _WITH_ALPHA:
            operands = (*operands, self.add(STEP_GIVEN, given=1))
        if len(found.signature.types) != len(operands):
            raise _Unreadable
        return self.add(STEP_CALL, table=found.table, function=found.call, operands=_numbers(operands), is_tensor=True)

    def function(self, found: Any, *operands: _Value) -> _Value:
        """Add a call of a function, which is taken to give a tensor."""
        if not callable(found):
            raise _Unreadable
        return self.add(STEP_CALL, table={}, function=found, operands=_numbers(operands), is_tensor=True)

    def add(
        self,
        kind: int,
        *,
        slot: str | None = None,
        given: Any = None,
        table: Any = None,
        function: Function | None = None,
        operands: tuple[int, ...] = (),
        is_tensor: bool = False,
    ) -> _Value:
        """Add a step."""
        self.steps.append((kind, slot, given, table, function, operands))
        return _Value(len(self.steps) - 1, is_tensor)


def _numbers(operands: tuple[_Value, ...]) -> tuple[int, ...]:
    return tuple([operand.number for operand in operands])
