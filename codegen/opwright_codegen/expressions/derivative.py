"""Derivatives of expressions, term by term: the text of each gradient, and of the tangent.

Formulas are over operators, so that they have derivatives in turn. Values inside an expression are computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright_codegen.expressions.expression import Expression
from opwright_codegen.expressions.functions import NONE, ZERO
from opwright_codegen.expressions.numpy_form import template
from opwright_codegen.expressions.typed import Applied, Argument, Cast, Node, Number, Sort
from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Call,
    Conditional,
    Constant,
    Formula,
    Name,
    rewrite,
)
from opwright_codegen.formula.emit import emit
from opwright_codegen.records import dataclass

__all__ = ["Derivatives", "derivatives_of"]

_LETTERS: Final = ("x", "y", "z")
_RESULT: Final = Name("result")


@dataclass(frozen=True, slots=True)
class Derivatives:
    """The texts of derivatives: a gradient by each argument, the tangent, and arguments that have no gradient."""

    gradients: Mapping[str, str]
    tangent: str
    without: tuple[str, ...]


def derivatives_of(expression: Expression) -> Derivatives | None:
    """Return the derivatives of an expression; None where its result is bool, which has none."""
    if expression.is_truth:
        return None
    backward = _Backward(expression)
    gradients = backward.gradients()
    forward = _Forward(expression, set(gradients))
    without = tuple(name for name in expression.tensors if name not in gradients)
    return Derivatives({name: emit(formula) for name, formula in gradients.items()}, emit(forward.tangent()), without)


class _Values:
    """The values of parts of an expression, as formulas over tensors."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        self.root = expression.root
        self.is_complex = expression.has_complex

    def argument(self, name: str) -> Formula:
        """Return an argument as the formula names it."""
        return Name(name)

    def like(self) -> Formula:
        """Return a tensor that numbers become tensors beside."""
        return Name("grad")

    def conjugated(self, formula: Formula, is_number: bool) -> Formula:
        """Return what c(…) stands for."""
        return formula

    def value(self, node: Node) -> Formula:
        """Return what a part gives."""
        if node is self.root:
            return _RESULT
        match node:
            case Argument(name):
                return self.argument(name)
            case Number(formula):
                return formula
            case Cast(operand) if operand.sort is Sort.TRUTH:
                return Binary("*", self.value(operand), Constant(1))
            case Cast(operand):
                return self.value(operand)
            case Applied(function, operands):
                is_infix = not isinstance(template(function.tensor), Call)
                given = {
                    letter: self.value(part) if is_infix or function.name == "where" else self._tensor(part)
                    for letter, part in zip(_LETTERS, operands, strict=False)
                }
                if function.name == "where" and operands[0].sort is Sort.NUMBER:
                    return Conditional(given["x"], given["y"], given["z"])
                return _replaced(template(function.tensor), given)

    def _tensor(self, node: Node) -> Formula:
        """Return what a part gives, as a tensor: methods are not of numbers."""
        found = self.value(node)
        if node.sort is not Sort.NUMBER:
            return found
        return Call(Attribute(self.like(), "new_full"), (template("()"), found))

    def partial(self, node: Applied, position: int, gradient: Formula) -> Formula | None:
        """Return the derivative by one operand, times `gradient`; None where there is none or it is zero."""
        text = node.function.derivatives[position]
        if text in (ZERO, NONE):
            return None
        if node.function.name == "power" and node.operands[1].sort is Sort.NUMBER:
            return self._power(node, gradient)
        test = node.operands[0]
        if node.function.name == "where" and test.sort is Sort.NUMBER:
            chosen = gradient, Binary("*", gradient, Constant(0))
            return Conditional(self.value(test), *(chosen if position == 1 else reversed(chosen)))
        if node.function.name == "clamp" and all(part.sort is Sort.NUMBER for part in node.operands[1:]):
            text = "where((x > y) & (x < z), g, 0)"  # numbers share no gradient
        given = {letter: self.value(part) for letter, part in zip(_LETTERS, node.operands, strict=False)}
        given |= {"g": gradient, "r": self.value(node)}
        of = dict(zip(_LETTERS, node.operands, strict=False))
        numbers = {letter for letter, part in of.items() if part.sort is Sort.NUMBER}

        def change(part: Formula) -> Formula | None:
            match part:
                case Call(Name("c"), (operand,), ()):
                    is_number = isinstance(operand, Name) and operand.name in numbers
                    return self.conjugated(rewrite(operand, change), is_number)
                case Attribute(Name(name), word) if name in of:
                    return Attribute(self._tensor(of[name]), word)
                case Name(name):
                    return given.get(name)  # (the others are operators)
                case _:
                    return None

        return rewrite(template(text), change)

    def _power(self, node: Applied, gradient: Formula) -> Formula | None:
        """Return the derivative of a power whose exponent is a number."""
        base, exponent = self.value(node.operands[0]), self.value(node.operands[1])
        given = {"x": base, "y": exponent, "g": gradient}
        match exponent:
            case Constant(int() | float() as value):
                if value == 0:
                    return None
                if value == 2:
                    return _replaced(template("g * (2 * x)"), given)
                return _replaced(template("g * (y * x ** k)"), given | {"k": Constant(value - 1)})
            case _:
                return _replaced(template("g * 0 if y == 0 else g * (y * x ** (y - 1))"), given)


def _replaced(formula: Formula, given: Mapping[str, Formula]) -> Formula:
    return rewrite(formula, lambda part: given.get(part.name) if isinstance(part, Name) else None)


def _sum(terms: list[Formula]) -> Formula:
    found = terms[0]
    for term in terms[1:]:
        found = Binary("+", found, term)
    return found


class _Backward(_Values):
    def conjugated(self, formula: Formula, is_number: bool) -> Formula:
        """Return the conjugate, where complex numbers are taken."""
        if not self.is_complex:
            return formula
        return Call(Attribute(formula, "conjugate" if is_number else "conj"), ())

    def gradients(self) -> dict[str, Formula]:
        """Return the gradient by each argument that the result depends on smoothly, or as on steps."""
        self._terms: dict[str, list[Formula]] = {}
        self._steps: set[str] = set()
        self._visit(self.root, Name("grad"))
        zero = Call(Attribute(Name("grad"), "new_zeros"), (Attribute(Name("grad"), "shape"),))
        found = {name: _sum(terms) for name, terms in self._terms.items()}
        found |= {name: zero for name in self._steps if name not in found}
        return {name: found[name] for name in self.expression.tensors if name in found}

    def _visit(self, node: Node, gradient: Formula) -> None:
        match node:
            case Argument(name):
                self._terms.setdefault(name, []).append(gradient)
            case Cast(operand) if operand.sort is not Sort.TRUTH:
                self._visit(operand, gradient)
            case Applied(function, operands):
                for position, operand in enumerate(operands):
                    if function.derivatives[position] == ZERO:
                        self._steps.update(_arguments(operand))
                    elif operand.sort is Sort.VALUE:
                        found = self.partial(node, position, gradient)
                        if found is not None:
                            self._visit(operand, found)
                        elif function.derivatives[position] != NONE:
                            self._steps.update(_arguments(operand))
            case _:
                pass


class _Forward(_Values):
    def __init__(self, expression: Expression, inputs: set[str]) -> None:
        super().__init__(expression)
        self._inputs = inputs

    def argument(self, name: str) -> Formula:
        """Return the value of an argument that has a tangent."""
        return Name(f"{name}_p" if name in self._inputs else name)

    def like(self) -> Formula:
        """Return a tangent."""
        return Name(f"{min(self._inputs)}_t")

    def tangent(self) -> Formula:
        """Return the tangent of the result."""
        found = self._tangent(self.root)
        return found if found is not None else template("result * 0")

    def _tangent(self, node: Node) -> Formula | None:
        match node:
            case Argument(name):
                return Name(f"{name}_t") if name in self._inputs else None
            case Cast(operand) if operand.sort is not Sort.TRUTH:
                return self._tangent(operand)
            case Applied(_, operands):
                terms = []
                for position, operand in enumerate(operands):
                    inner = self._tangent(operand) if operand.sort is Sort.VALUE else None
                    found = None if inner is None else self.partial(node, position, inner)
                    if found is not None:
                        terms.append(found)
                return _sum(terms) if terms else None
            case _:
                return None


def _arguments(node: Node) -> set[str]:
    """Return the arguments that values of a part are made of."""
    match node:
        case Argument(name):
            return {name}
        case Applied(_, operands):
            return set().union(*(_arguments(operand) for operand in operands if operand.sort is not Sort.TRUTH))
        case Cast(operand) if operand.sort is not Sort.TRUTH:
            return _arguments(operand)
        case _:
            return set()
