"""Formulas of derivatives read back as typed trees, so that they have a form in C beside the expression's own.

A formula is over tensors, whose methods are functions of expressions; what is something else has no tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright_codegen.expressions.expression import Expression
from opwright_codegen.expressions.functions import FUNCTIONS, OPERATORS, UNARY
from opwright_codegen.expressions.reader import typed
from opwright_codegen.expressions.typed import Applied, Argument, Cast, Node, Number, Sort
from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    Kind,
    Reference,
    Unary,
    walk,
)

__all__ = ["GRADIENT", "gradient_trees", "tangent_tree"]

GRADIENT: Final = "gradient of the result"  # an Argument that no schema declares
_METHODS: Final = {"sgn": "sign"} | {
    name: name for name, function in FUNCTIONS.items() if function.tensor in (f"x.{name}()", f"x.{name}(y)")
}
_OF_TENSORS: Final = ("where", "minimum", "maximum")  # operators that are called by name
_OF_NUMBERS: Final = Reference | Constant | Binary | Unary | Comparison | Conditional


class _NoTreeError(Exception):
    """A formula that is no expression."""


def gradient_trees(expression: Expression, formulas: Mapping[str, Formula]) -> dict[str, Node] | None:
    """Return the tree of each gradient; None where one is no expression of arguments, the result and its gradient."""
    trees = _Trees(expression)
    try:
        return {name: trees.value(formula) for name, formula in formulas.items()}
    except _NoTreeError:
        return None


def tangent_tree(gradients: Mapping[str, Node], tangents: Mapping[str, str]) -> Node:
    """Return the tangent of the result: gradients are linear, and each element is of itself alone."""
    found: Node | None = None
    for name, tree in gradients.items():
        term = _replaced(tree, tangents[name])
        found = term if found is None else typed(FUNCTIONS["add"], (found, term), None)
    assert found is not None
    return found


def _replaced(node: Node, name: str) -> Node:
    """Return a tree with an argument of that name in the place of the gradient of the result."""
    match node:
        case Argument(own):
            return Argument(name, None) if own == GRADIENT else node
        case Cast(operand):
            return Cast(_replaced(operand, name), node.span, node.sort)
        case Applied(function, operands):
            return Applied(function, tuple(_replaced(each, name) for each in operands), node.sort, node.span)
        case _:
            return node


class _Trees:
    def __init__(self, expression: Expression) -> None:
        self._expression = expression

    def value(self, formula: Formula) -> Node:
        """Return the tree of values that a formula gives. Raises _NoTreeError."""
        found = self._node(formula)
        return Cast(found, None) if found.sort is Sort.TRUTH else found

    def _node(self, formula: Formula) -> Node:
        if self._is_number(formula):
            return Number(formula, None)
        match formula:
            case Reference(Kind.GRAD, "grad"):
                return Argument(GRADIENT, None)
            case Reference(Kind.RESULT, "result"):
                return self._expression.root
            case Reference(Kind.ARGUMENT, name) if name in self._expression.tensors:
                return Argument(name, None)
            case Binary("**", base, Constant(1 | 2 as exponent)):
                return self._node(base) if exponent == 1 else self._applied("square", base)
            case Binary(sign, left, right) if sign in OPERATORS:
                return self._applied(OPERATORS[sign], left, right)
            case Unary(sign, operand) if sign in UNARY:
                return self._applied(UNARY[sign], operand)
            case Comparison(first, ((sign, second),)) if sign in OPERATORS:
                return self._applied(OPERATORS[sign], first, second)
            case Conditional(test, then, otherwise):
                return self._applied("where", test, then, otherwise)
            case Call(Reference(Kind.OPERATOR, name), operands, ()) if name in _OF_TENSORS:
                return self._applied(name, *operands)
            case Call(Attribute(of, method), operands, keywords):
                return self._method(of, method, operands, dict(keywords))
            case _:
                raise _NoTreeError

    def _method(self, of: Formula, name: str, operands: tuple[Formula, ...], keywords: dict[str, Formula]) -> Node:
        match name, operands:
            case "div", (divisor,) if keywords == {"rounding_mode": Constant("floor")}:
                return self._applied("floor_divide", of, divisor)
            case "new_full", (_, value) if not keywords:
                return self._node(value)
            case (("conj" | "conjugate"), ()) if not keywords:
                return self._node(of)  # which it is of real numbers
            case "new_zeros", (_,) if not keywords:
                return Number(Constant(0), None)
            case _ if name in _METHODS and not keywords:
                return self._applied(_METHODS[name], of, *operands)
            case _:
                raise _NoTreeError

    def _applied(self, name: str, *operands: Formula) -> Node:
        function = FUNCTIONS[name]
        if len(operands) != function.count:
            raise _NoTreeError
        parts = [self._node(operand) for operand in operands]
        if name.startswith("bitwise_"):  # of truths, as in (self < 1) & (by > 2)
            parts = [_truth(part) for part in parts]
        return typed(function, tuple(parts), None)

    def _is_number(self, formula: Formula) -> bool:
        """Whether Python computes it, of numbers alone."""
        return all(
            isinstance(part, _OF_NUMBERS) and (not isinstance(part, Reference) or self._is_numeric(part))
            for part in walk(formula)
        )

    def _is_numeric(self, part: Reference) -> bool:
        is_argument = part.kind is Kind.ARGUMENT and part.name not in self._expression.tensors
        return is_argument or part.kind is Kind.CONSTANT


def _truth(node: Node) -> Node:
    if node.sort is Sort.TRUTH:
        return node
    if node.sort is Sort.VALUE:
        raise _NoTreeError
    return Applied(FUNCTIONS["not_equal"], (node, Number(Constant(0), None)), Sort.TRUTH, None)
