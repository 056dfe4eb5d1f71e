"""Expressions over NumPy or CuPy: the definition of what an operator computes."""

from __future__ import annotations

from functools import cache

from opwright_codegen.expressions.expression import Expression
from opwright_codegen.expressions.typed import Applied, Argument, Cast, Node, Number
from opwright_codegen.formula.ast import Attribute, Call, Formula, Kind, Name, Reference, rewrite
from opwright_codegen.formula.parser import parse
from opwright_codegen.source import Source, Text

__all__ = ["numpy_form", "template"]

_LETTERS = ("x", "y", "z")
_XP = Reference(Kind.MODULE, "xp")


@cache
def template(text: str) -> Formula:
    """Return the formula of a text of ours."""
    return parse(Text(text, Source("<functions>", text).whole()))


def numpy_form(expression: Expression) -> Formula:
    """Return the resolved formula; functions that NumPy has not are References `module:name`."""
    first = Reference(Kind.ARGUMENT, expression.tensors[0])
    return _form(expression.root, first)


def _form(node: Node, first: Formula) -> Formula:
    match node:
        case Argument(name):
            return Reference(Kind.ARGUMENT, name)
        case Number(formula):
            return formula
        case Cast(operand):
            dtype = Attribute(first, "dtype")
            return Call(Attribute(_form(operand, first), "astype"), (dtype,))
        case Applied(function, operands):
            formed = {letter: _form(operand, first) for letter, operand in zip(_LETTERS, operands, strict=False)}
            if function.module:
                named = Reference(Kind.FUNCTION, f"opwright_kernels.{function.module}:{function.name}")
                return Call(named, (_XP, *formed.values()))

            def change(part: Formula) -> Formula | None:
                return (_XP if part.name == "xp" else formed[part.name]) if isinstance(part, Name) else None

            return rewrite(template(function.array), change)
